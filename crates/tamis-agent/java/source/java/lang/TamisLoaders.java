package java.lang;

import java.io.File;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;

/**
 * What a class loader and those above it search, in order. Loaders whose order is not known make the
 * path unknown: a class could be taken from another place than the one that is looked at.
 */
final class TamisLoaders {
    private static final String ANT = "org.apache.tools.ant.AntClassLoader";

    final List<String> path = new ArrayList<String>();
    /** Why the path is not known; null if it is. */
    String unknown;

    private TamisLoaders() {}

    static TamisLoaders of(ClassLoader loader) {
        TamisLoaders loaders = new TamisLoaders();
        try {
            loaders.add(loader);
        } catch (Exception problem) {
            loaders.unknown = "the class loader " + loader.getClass().getName() + ": " + problem;
        }
        return loaders;
    }

    private void add(ClassLoader loader) throws Exception {
        if (loader == null) {
            return;
        }
        if (loader == ClassLoader.getSystemClassLoader()) {
            addTexts(System.getProperty("java.class.path", ""));
            return;
        }
        String name = loader.getClass().getName();
        if (name.equals("java.net.URLClassLoader") || name.equals("java.net.FactoryURLClassLoader")
                || name.equals("org.gradle.internal.classloader.VisitableURLClassLoader")) {
            add(loader.getParent());
            addUrls(((URLClassLoader) loader).getURLs());
        } else if (name.equals("org.gradle.internal.classloader.FilteringClassLoader")) {
            // Lets some of what is above it through.
            add(loader.getParent());
        } else if (name.equals(ANT) || name.equals("org.apache.tools.ant.loader.AntClassLoader5")
                // These take only classes of Ant itself in another order.
                || name.equals("org.apache.tools.ant.util.SplitClassLoader")
                || name.startsWith("org.apache.tools.ant.taskdefs.optional.junitlauncher.")) {
            addAnt(loader);
        } else if (!name.startsWith("jdk.internal.loader.") && !name.startsWith("sun.misc.Launcher$")) {
            unknown = "the class loader " + name + " is not known";
        }
    }

    private void addAnt(ClassLoader loader) throws Exception {
        Class<?> type = loader.getClass();
        while (!type.getName().equals(ANT)) {
            type = type.getSuperclass();
        }
        Field parentFirst = type.getDeclaredField("parentFirst");
        parentFirst.setAccessible(true);
        Field parent = type.getDeclaredField("parent");
        parent.setAccessible(true);
        Method classPath = type.getDeclaredMethod("getClasspath");
        classPath.setAccessible(true);
        boolean first = parentFirst.getBoolean(loader);
        if (first) {
            add((ClassLoader) parent.get(loader));
        }
        addTexts((String) classPath.invoke(loader));
        if (!first) {
            add((ClassLoader) parent.get(loader));
        }
    }

    private void addTexts(String texts) {
        for (String text : texts.split(File.pathSeparator)) {
            // An empty entry is the working folder.
            addFile(new File(text.isEmpty() ? "." : text));
        }
    }

    private void addUrls(URL[] urls) throws Exception {
        for (URL url : urls) {
            if (!"file".equals(url.getProtocol())) {
                unknown = "classes come from " + url;
                return;
            }
            addFile(new File(url.toURI()));
        }
    }

    private void addFile(File file) {
        String text = file.getAbsoluteFile().toPath().normalize().toString();
        if (!path.contains(text)) {
            path.add(text);
        }
    }
}
