package launch;

import java.io.File;
import java.net.*;
import java.nio.file.*;
import java.util.*;

/** Links every class below each folder, which verifies it, and prints how that ended. */
public class Link {
    public static void main(String[] args) throws Exception {
        URL probe = Link.class.getProtectionDomain().getCodeSource().getLocation();
        for (String folder : args) {
            URLClassLoader loader = new URLClassLoader(new URL[] {Paths.get(folder).toUri().toURL(), probe}, null);
            List<String> names = new ArrayList<>();
            names(new File(folder), "", names);
            Collections.sort(names);
            System.out.println("folder");
            for (String name : names) {
                String result = "ok";
                try {
                    // Asking for the methods links the class, without running any of it.
                    Class.forName(name, false, loader).getDeclaredMethods();
                } catch (Throwable e) {
                    result = e.getClass().getName() + (e instanceof VerifyError ? e.getMessage() : "");
                }
                System.out.println(name + " " + result);
            }
        }
    }

    static void names(File folder, String prefix, List<String> out) {
        for (File file : folder.listFiles()) {
            String name = prefix + file.getName();
            if (file.isDirectory()) names(file, name + ".", out);
            else if (name.endsWith(".class") && !name.endsWith("-info.class") && !name.startsWith("META-INF")) out.add(name.substring(0, name.length() - 6));
        }
    }
}
