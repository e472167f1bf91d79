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
import com.ibm.wala.ipa.callgraph.impl.AbstractRootMethod;
import com.ibm.wala.ipa.callgraph.impl.DefaultEntrypoint;
import com.ibm.wala.ipa.callgraph.impl.Util;
import com.ibm.wala.ipa.cha.ClassHierarchy;
import com.ibm.wala.ipa.cha.ClassHierarchyFactory;
import com.ibm.wala.ipa.cha.IClassHierarchy;
import com.ibm.wala.types.ClassLoaderReference;
import com.ibm.wala.types.TypeReference;
import com.sun.management.OperatingSystemMXBean;
import java.io.File;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The call graph of WALA for the same classes and roots as `call_figures`: all methods that are not
 * private of the classes whose name ends with SUFFIX (one of several, with commas between them), inherited
 * ones included. With `each` what the methods of each such class alone can reach is written as well.
 *
 * <p>java WalaGraph ALGORITHM include|exclude SUFFIX PROJECT_PATH LIBRARY_PATH NAMES_FILE [each]
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
    long cpu = ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    System.out.printf("%-8s %7.3f s  cpu %.2f s, %d classes, %d roots: %d methods reached, %d of the project; %d MiB%n",
        algorithm, seconds, cpu / 1e9, hierarchy.getNumberOfClasses(), roots.size(), all.size(), own.size(), memory);
    // Before what may take longer than the graph: lists of what was found.
    System.out.flush();
    try (PrintWriter out = new PrintWriter(args[5])) {
      own.forEach(out::println);
    }
    try (PrintWriter out = new PrintWriter(args[5] + ".callers")) {
      callers(graph, out);
    }
    if (args.length > 6) {
      try (PrintWriter out = new PrintWriter(args[5] + ".tests")) {
        tests(graph, hierarchy, args[2], out);
      }
    }
  }

  /** Each test class with the methods of the project that its own roots reach. */
  private static void tests(CallGraph graph, ClassHierarchy hierarchy, String suffix, PrintWriter out) {
    TreeSet<String> lines = new TreeSet<>();
    for (IClass test : hierarchy) {
      if (!isTest(test, suffix)) {
        continue;
      }
      Set<CGNode> seen = new HashSet<>();
      for (IMethod root : rootsOf(test)) {
        seen.addAll(graph.getNodes(root.getReference()));
      }
      Deque<CGNode> todo = new ArrayDeque<>(seen);
      while (!todo.isEmpty()) {
        for (Iterator<CGNode> next = graph.getSuccNodes(todo.pop()); next.hasNext();) {
          CGNode node = next.next();
          if (seen.add(node)) {
            todo.push(node);
          }
        }
      }
      String start = test.getName().toString().substring(1).replace('/', '.') + "\t";
      for (CGNode node : seen) {
        if (isOwn(node.getMethod().getDeclaringClass())) {
          lines.add(start + name(node.getMethod()));
        }
      }
    }
    lines.forEach(out::println);
  }

  /** Who calls each method of the project or a jar: caller, method, declared type, whose that is, whether it can run. */
  private static void callers(CallGraph graph, PrintWriter out) {
    TreeSet<String> lines = new TreeSet<>();
    for (CGNode node : graph) {
      if (!isOwn(node.getMethod().getDeclaringClass()) && !isLibrary(node.getMethod().getDeclaringClass())) {
        continue;
      }
      String name = name(node.getMethod());
      String end = "\t" + (someObjectRuns(graph.getClassHierarchy(), node.getMethod()) ? "runs" : "overridden");
      for (Iterator<CGNode> from = graph.getPredNodes(node); from.hasNext();) {
        CGNode caller = from.next();
        String start = name(caller.getMethod()) + "\t" + name + "\t";
        boolean any = false;
        for (Iterator<CallSiteReference> sites = graph.getPossibleSites(caller, node); sites.hasNext();) {
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

  private static boolean isLibrary(IClass type) {
    return type.getClassLoader().getReference().equals(ClassLoaderReference.Extension);
  }

  private static String name(IMethod method) {
    String type = method.getDeclaringClass().getName().toString().substring(1).replace('/', '.');
    return type + "#" + method.getName() + method.getDescriptor();
  }

  private static List<Entrypoint> roots(ClassHierarchy hierarchy, String suffix) {
    Map<TypeReference, Integer> receivers = new HashMap<>();
    List<Entrypoint> roots = new ArrayList<>();
    for (IClass type : hierarchy) {
      if (!isTest(type, suffix)) {
        continue;
      }
      for (IMethod method : rootsOf(type)) {
        TypeReference receiver = type.getReference();
        roots.add(new DefaultEntrypoint(method, hierarchy) {
          /** One object for all methods of a test: what its set-up puts into fields, the others find there. */
          @Override
          protected int makeArgument(AbstractRootMethod root, int at) {
            if (at > 0 || method.isStatic()) {
              return super.makeArgument(root, at);
            }
            return receivers.computeIfAbsent(receiver, type -> super.makeArgument(root, 0));
          }

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

  private static boolean isTest(IClass type, String suffixes) {
    if (!isOwn(type) || type.isInterface() || type.isAbstract()) {
      return false;
    }
    return List.of(suffixes.split(",")).stream().anyMatch(type.getName().toString()::endsWith);
  }

  private static List<IMethod> rootsOf(IClass type) {
    List<IMethod> roots = new ArrayList<>(methods(type));
    roots.removeIf(method -> method.isAbstract() || method.isPrivate() || method.isSynthetic()
        || (method.getDeclaringClass() != type && method.isInit()));
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
