package launch;

import java.io.*;
import java.net.*;
import java.nio.file.*;
import java.util.*;

/** Runs the corpus from each of the given folders with a probe of its own: folder, report, output. */
public class Launch {
    public static void main(String[] args) throws Exception {
        List<String> more = new ArrayList<>();
        PrintStream stdout = System.out;
        for (String arg : args) {
            if (arg.startsWith("+")) { more.add(arg.substring(1)); continue; }
            URL probe = Launch.class.getProtectionDomain().getCodeSource().getLocation();
            URL[] path = {Paths.get(arg).toUri().toURL(), probe};
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            URLClassLoader loader = new URLClassLoader(path, ClassLoader.getSystemClassLoader().getParent());
            Thread.currentThread().setContextClassLoader(loader);
            System.setOut(new PrintStream(bytes, true));
            try {
                loader.loadClass("corpus.Corpus").getMethod("main", String[].class).invoke(null, (Object) more.toArray(new String[0]));
            } catch (java.lang.reflect.InvocationTargetException e) {
                e.getCause().printStackTrace(System.out);
            }
            System.setOut(stdout);
            Files.write(Paths.get(arg, "output.txt"), bytes.toByteArray());
            Files.write(Paths.get(arg, "report.txt"), ((String) loader.loadClass("probe.Probe").getMethod("report").invoke(null)).getBytes("UTF-8"));
            Object said = field(loader);
            Files.write(Paths.get(arg, "said.txt"), String.join("\n", (List<String>) said).getBytes("UTF-8"));
        }
    }

    static Object field(ClassLoader loader) throws Exception {
        java.lang.reflect.Field said = loader.loadClass("corpus.Corpus").getDeclaredField("SAID");
        said.setAccessible(true);
        return said.get(null);
    }
}
