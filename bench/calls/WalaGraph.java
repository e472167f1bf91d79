import com.ibm.wala.classLoader.CallSiteReference;
import com.ibm.wala.classLoader.IClass;
import com.ibm.wala.classLoader.IMethod;
import com.ibm.wala.classLoader.Language;
import com.ibm.wala.core.util.config.AnalysisScopeReader;
import com.ibm.wala.ipa.callgraph.AnalysisCacheImpl;
import com.ibm.wala.ipa.callgraph.AnalysisOptions;
import com.ibm.wala.ipa.callgraph.AnalysisScope;
import com.ibm.wala.ipa.callgraph.CGNode;
import com.ibm.wala.ipa.callgraph.CallGraph;
import com.ibm.wala.ipa.callgraph.Entrypoint;
import com.ibm.wala.ipa.callgraph.IAnalysisCacheView;
import com.ibm.wala.ipa.callgraph.cha.CHACallGraph;
import com.ibm.wala.ipa.callgraph.impl.DefaultEntrypoint;
import com.ibm.wala.ipa.callgraph.impl.Util;
import com.ibm.wala.ipa.cha.ClassHierarchy;
import com.ibm.wala.ipa.cha.ClassHierarchyFactory;
import com.ibm.wala.ipa.cha.IClassHierarchy;
import com.ibm.wala.types.ClassLoaderReference;
import com.ibm.wala.types.TypeReference;
import java.io.File;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * The call graph of WALA for the same classes and roots as `call_figures`: all methods that are not
 * private of the classes whose name ends with SUFFIX, inherited ones included.
 *
 * <p>java WalaGraph ALGORITHM include|exclude SUFFIX PROJECT_PATH LIBRARY_PATH NAMES_FILE
 */
public class WalaGraph {
  /** WALA cannot do without `java.lang`; with libraries left out the rest of the JDK is. */
  private static final String EXCLUDED =
      String.join("\n", "sun\\/.*", "jdk\\/.*", "com\\/sun\\/.*", "javax\\/.*", "java\\/util\\/.*",
          "java\\/net\\/.*", "java\\/security\\/.*", "java\\/time\\/.*", "java\\/text\\/.*",
          "java\\/nio\\/.*", "java\\/math\\/.*", "java\\/lang\\/[a-z].*", "java\\/io\\/[A-RT-Z].*",
          "java\\/io\\/S[a-df-z].*", "org\\/junit\\/.*", "junit\\/.*", "org\\/hamcrest\\/.*");

  public static void main(String[] args) throws Exception {
    String algorithm = args[0];
    boolean include = args[1].equals("include");
    long start = System.nanoTime();
    File exclusions = null;
    if (!include) {
      exclusions = File.createTempFile("exclusions", ".txt");
      exclusions.deleteOnExit();
      Files.writeString(exclusions.toPath(), EXCLUDED + "\n");
    }
    AnalysisScopeReader reader = AnalysisScopeReader.instance;
    AnalysisScope scope =
        include ? reader.makePrimordialScope(null) : reader.makeBasePrimordialScope(exclusions);
    reader.addClassPathToScope(args[3], scope, ClassLoaderReference.Application);
    if (include && !args[4].isEmpty()) {
      reader.addClassPathToScope(args[4], scope, ClassLoaderReference.Extension);
    }
    ClassHierarchy hierarchy = ClassHierarchyFactory.makeWithRoot(scope);
    List<Entrypoint> roots = roots(hierarchy, args[2]);
    AnalysisOptions options = new AnalysisOptions(scope, roots);
    options.setReflectionOptions(AnalysisOptions.ReflectionOptions.NONE);
    IAnalysisCacheView cache = new AnalysisCacheImpl();
    CallGraph graph;
    switch (algorithm) {
      case "cha" -> {
        CHACallGraph cha = new CHACallGraph(hierarchy);
        cha.init(roots);
        graph = cha;
      }
      case "rta" -> graph = Util.makeRTABuilder(options, cache, hierarchy).makeCallGraph(options, null);
      case "0-cfa" ->
        graph = Util.makeZeroCFABuilder(Language.JAVA, options, cache, hierarchy)
            .makeCallGraph(options, null);
      case "0-1-cfa" ->
        graph = Util.makeZeroOneCFABuilder(Language.JAVA, options, cache, hierarchy)
            .makeCallGraph(options, null);
      default -> throw new IllegalArgumentException(algorithm);
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    TreeSet<String> own = new TreeSet<>();
    TreeSet<String> all = new TreeSet<>();
    for (CGNode node : graph) {
      IMethod method = node.getMethod();
      String name = name(method);
      all.add(name);
      if (method.getDeclaringClass().getClassLoader().getReference()
          .equals(ClassLoaderReference.Application)) {
        own.add(name);
      }
    }
    long memory = 0;
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmHWM:")) {
        memory = Long.parseLong(line.replaceAll("[^0-9]", "")) / 1024;
      }
    }
    System.out.printf("%-8s %7.3f s  %d classes, %d roots: %d methods reached, %d of the project; %d MiB%n",
        algorithm, seconds, hierarchy.getNumberOfClasses(), roots.size(), all.size(), own.size(), memory);
    try (PrintWriter out = new PrintWriter(args[5])) {
      own.forEach(out::println);
    }
    try (PrintWriter out = new PrintWriter(args[5] + ".callers")) {
      callers(graph, out);
    }
  }

  /** Who calls each method of the project: caller, method, declared type, whose that is, whether it can run. */
  private static void callers(CallGraph graph, PrintWriter out) {
    TreeSet<String> lines = new TreeSet<>();
    for (CGNode node : graph) {
      if (!isOwn(node.getMethod().getDeclaringClass())) {
        continue;
      }
      String name = name(node.getMethod());
      String end = "\t" + (someObjectRuns(graph.getClassHierarchy(), node.getMethod()) ? "runs" : "overridden");
      for (java.util.Iterator<CGNode> from = graph.getPredNodes(node); from.hasNext();) {
        CGNode caller = from.next();
        String start = name(caller.getMethod()) + "\t" + name + "\t";
        boolean any = false;
        for (java.util.Iterator<CallSiteReference> sites = graph.getPossibleSites(caller, node); sites.hasNext();) {
          CallSiteReference site = sites.next();
          TypeReference type = site.getDeclaredTarget().getDeclaringClass();
          IClass found = graph.getClassHierarchy().lookupClass(type);
          String kind = found != null && isOwn(found) ? "own" : "library";
          lines.add(start + type.getName() + "\t" + kind + end);
          any = true;
        }
        if (!any) {
          lines.add(start + "?\t?" + end);
        }
      }
    }
    lines.forEach(out::println);
  }

  /** Whether there is a concrete class whose objects run just this method. */
  private static boolean someObjectRuns(IClassHierarchy hierarchy, IMethod method) {
    if (method.isStatic() || method.isInit() || method.isPrivate()) {
      return true;
    }
    IClass type = method.getDeclaringClass();
    List<IClass> below = new ArrayList<>(hierarchy.computeSubClasses(type.getReference()));
    if (type.isInterface()) {
      below.addAll(hierarchy.getImplementors(type.getReference()));
    }
    for (IClass one : below) {
      if (!one.isAbstract() && !one.isInterface() && method.equals(one.getMethod(method.getSelector()))) {
        return true;
      }
    }
    return false;
  }

  private static boolean isOwn(IClass type) {
    return type.getClassLoader().getReference().equals(ClassLoaderReference.Application);
  }

  private static String name(IMethod method) {
    String type = method.getDeclaringClass().getName().toString().substring(1).replace('/', '.');
    return type + "#" + method.getName() + method.getDescriptor();
  }

  private static List<Entrypoint> roots(ClassHierarchy hierarchy, String suffix) {
    List<Entrypoint> roots = new ArrayList<>();
    for (IClass type : hierarchy) {
      boolean own = type.getClassLoader().getReference().equals(ClassLoaderReference.Application);
      if (!own || type.isInterface() || !type.getName().toString().endsWith(suffix)) {
        continue;
      }
      if (type.isAbstract()) {
        continue;
      }
      for (IMethod method : methods(type)) {
        boolean inherited = method.getDeclaringClass() != type;
        if (method.isAbstract() || method.isPrivate() || method.isSynthetic()
            || (inherited && method.isInit())) {
          continue;
        }
        TypeReference receiver = type.getReference();
        roots.add(new DefaultEntrypoint(method, hierarchy) {
          @Override
          protected TypeReference[] makeParameterTypes(IMethod method, int at) {
            return at == 0 && !method.isStatic()
                ? new TypeReference[] {receiver}
                : super.makeParameterTypes(method, at);
          }
        });
      }
    }
    return roots;
  }

  /** A class's methods and those of the project's classes above it; WALA's own list needs all of them. */
  private static List<IMethod> methods(IClass type) {
    List<IMethod> methods = new ArrayList<>();
    TreeSet<String> seen = new TreeSet<>();
    IClass at = type;
    while (at != null
        && at.getClassLoader().getReference().equals(ClassLoaderReference.Application)) {
      for (IMethod method : at.getDeclaredMethods()) {
        if (method.isInit() || method.isClinit() || seen.add(method.getSelector().toString())) {
          methods.add(method);
        }
      }
      at = at.getSuperclass();
    }
    return methods;
  }
}
