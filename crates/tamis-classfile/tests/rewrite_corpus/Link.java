package launch;

import java.net.*;
import java.nio.file.*;
import java.util.*;
import java.util.jar.*;

/** Links every class of each jar, which verifies it, and prints how that ended. */
public class Link {
    public static void main(String[] args) throws Exception {
        URL probe = Link.class.getProtectionDomain().getCodeSource().getLocation();
        for (String jar : args) {
            URLClassLoader loader = new URLClassLoader(new URL[] {Paths.get(jar).toUri().toURL(), probe}, null);
            System.out.println("jar");
            for (String name : names(jar)) {
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

    static Set<String> names(String jar) throws Exception {
        Set<String> names = new TreeSet<>();
        try (JarFile file = new JarFile(jar)) {
            for (Enumeration<JarEntry> all = file.entries(); all.hasMoreElements(); ) {
                String name = all.nextElement().getName();
                boolean is = name.endsWith(".class") && !name.endsWith("-info.class") && !name.startsWith("META-INF") && !name.startsWith("tamisprobe/");
                if (is) names.add(name.substring(0, name.length() - 6).replace('/', '.'));
            }
        }
        return names;
    }
}
