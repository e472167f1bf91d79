package corpus;

import java.io.*;
import java.util.*;
import java.util.concurrent.Callable;
import java.util.function.*;

/** Everything that Java 8 has and that is awkward to rewrite. Prints what it computes. */
public class Corpus {
    static final List<String> SAID = new ArrayList<>();

    public static void main(String[] args) throws Throwable {
        out("loops", new Loops().run());
        out("exceptions", new Exceptions().run());
        out("constructors", new Constructors(3).run());
        out("kinds", new Kinds().run());
        out("lambdas", new Lambdas().run());
        out("interfaces", new Interfaces.Impl().run());
        out("locks", new Locks().run());
        out("generics", new Generics.Leaf().run());
        out("enums", Enums.run());
        out("old", Old.run());
        out("switches", Switches.run());
        out("wide", Wide.run());
        out("constants", ManyConstants.run());
        out("said", Said.run());
        for (String more : args) {
            Object result = Class.forName(more).getMethod("run").invoke(null);
            out(more, result);
        }
    }

    static void out(String what, Object value) {
        System.out.println(what + ": " + value);
    }
}

class Loops {
    int turns;

    /** The very first instruction is the target of a branch. */
    void startsWithLoop() {
        do { turns++; } while (turns % 10 != 0);
    }

    static int spin(int n) {
        while (n > 5) n -= 3;
        return n;
    }

    static void empty() {}

    static long nested(int n) {
        long sum = 0;
        outer:
        for (int i = 0; i < n; i++) {
            for (int j = i; j < n; j++) {
                if ((i ^ j) == 7) continue outer;
                if (sum > 100000) break outer;
                sum += (long) i * j;
            }
        }
        return sum;
    }

    String run() {
        startsWithLoop();
        empty();
        startsWithLoop();
        return turns + " " + spin(100) + " " + nested(40);
    }
}

class Exceptions {
    final StringBuilder log = new StringBuilder();

    int handled(int n) {
        try {
            if (n == 0) throw new IllegalStateException("zero");
            return 10 / (n - 1);
        } catch (IllegalStateException | ArithmeticException e) {
            log.append(e.getMessage()).append(';');
            return -1;
        } finally {
            log.append("f").append(n);
        }
    }

    /** The first instruction is inside of the protected range. */
    void wholeBody() throws IOException {
        try (StringReader reader = new StringReader("abc"); Closing closing = new Closing(log)) {
            log.append((char) reader.read());
            throw new IOException("in body");
        }
    }

    static void thrower(int depth) {
        if (depth > 0) thrower(depth - 1);
        else throw new UnsupportedOperationException("deep");
    }

    /** Line numbers in a stack trace stay what they were. */
    static String lines() {
        try {
            Object nothing = null;
            return nothing.toString();
        } catch (NullPointerException e) {
            return "line " + e.getStackTrace()[0].getLineNumber();
        }
    }

    /** The line of the method's start is found although it is not yet inside of the old code. */
    static int endless(int n) { return endless(n + 1) + 1; }

    static String overflow() {
        try {
            return "" + endless(0);
        } catch (StackOverflowError e) {
            int line = 0;
            for (StackTraceElement element : e.getStackTrace())
                if (element.getMethodName().equals("endless")
                        && line >= 0) line = element.getLineNumber();
            return "overflow " + line;
        }
    }

    String run() {
        int sum = handled(0) + handled(1) + handled(6);
        try { wholeBody(); } catch (IOException e) { log.append(e.getMessage()); }
        try { thrower(3); } catch (UnsupportedOperationException e) { log.append(e.getMessage()); }
        return sum + " " + log + " " + lines() + " " + overflow();
    }

    static class Closing implements AutoCloseable {
        final StringBuilder log;
        Closing(StringBuilder log) { this.log = log; }
        public void close() { log.append("closed;"); }
    }
}

class Constructors {
    final String text;
    final int n;

    /** `this` is not initialised in the frames of the conditional. */
    Constructors(int n) { this(n > 2 ? "big" : n > 1 ? "middle" : "small", n * (n > 0 ? 1 : -1)); }

    Constructors(String text, int n) {
        super();
        while (n > 100) n /= 2;
        this.text = text;
        this.n = n;
    }

    /** New objects stay uninitialised over branches: frames name the `new`. */
    static Object made(boolean a, boolean b, String s) {
        return new Constructors(a ? s : b ? "b" + s : "c", new Constructors(b ? 1 : 2).n + (a ? 5 : 6));
    }

    static Object[] nestedNews(boolean a) {
        return new Object[] {
            new StringBuilder(a ? new String(a ? "x" : "y") : new String(new char[] {a ? 'p' : 'q'})),
            new ArrayList<>(new HashSet<>(a ? Arrays.asList(1, 2) : Collections.singleton(3)))
        };
    }

    static class Sub extends Constructors {
        final int extra;
        Sub(Object o) { super(o == null ? "null" : o.toString(), o instanceof String ? 1000 : 7); extra = o == null ? 1 : 2; }
        public String toString() { return super.toString() + "+" + extra; }
    }

    class Inner { int value = n; Inner() { value += text.length(); } }

    public String toString() { return text + "/" + n; }

    String run() {
        return this + " " + made(true, true, "s") + made(false, true, "t") + made(false, false, "u") + " "
            + Arrays.toString(nestedNews(true)) + Arrays.toString(nestedNews(false)) + " "
            + new Sub(null) + new Sub("text") + new Sub(12) + new Inner().value
            + new Object() { int twice(int v) { return v * 2; } }.twice(n);
    }
}

class Kinds {
    boolean z(boolean v) { return !v; }
    byte b(byte v) { return (byte) (v + 1); }
    char c(char v) { return (char) (v + 1); }
    short s(short v) { return (short) (v + 1); }
    int i(int v) { return v + 1; }
    long j(long v) { return v + 1; }
    float f(float v) { return v + 1; }
    double d(double v) { return v + 1; }
    String l(String v) { return v + 1; }
    int[] a(int[] v) { v[0]++; return v; }
    String[][] aa(String[]... v) { return v; }
    static String mixed(long a, int b, double c, Object d, float e, long f, byte[] g, boolean h, char i, short j, byte k, String... more) {
        return a + "," + b + "," + c + "," + d + "," + e + "," + f + "," + g.length + "," + h + "," + i + "," + j + "," + k + Arrays.toString(more);
    }
    String many(long a0, double a1, long a2, double a3, long a4, double a5, long a6, double a7, long a8, double a9,
                long b0, double b1, long b2, double b3, long b4, double b5, long b6, double b7, long b8, double b9, Object last) {
        return "" + (a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7 + b8 + b9) + last;
    }
    String run() {
        return "" + z(true) + b((byte) 127) + c('a') + s((short) 5) + i(1) + j(1L << 40) + f(1.5f) + d(2.5) + l("x")
            + a(new int[] {41})[0] + aa(new String[] {"p"}, new String[0]).length
            + mixed(1, 2, 3, "o", 4, 5, new byte[6], true, 'i', (short) 7, (byte) 8, "v", "w")
            + many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, "end");
    }
}

class Lambdas {
    int base = 7;
    Supplier<Integer> captured(int add) { return () -> base + add; }
    static Function<Integer, Integer> twice(Function<Integer, Integer> f) { return f.andThen(f); }
    static <T> T call(Callable<T> c) throws Exception { return c.call(); }
    String run() throws Exception {
        BiFunction<Integer, Integer, Integer> plus = Integer::sum;
        Supplier<List<String>> make = ArrayList::new;
        List<String> list = make.get();
        Collections.addAll(list, "b", "c", "a");
        list.sort(Comparator.comparing((String s) -> s.charAt(0)).reversed());
        Runnable[] holder = new Runnable[1];
        int[] count = {0};
        holder[0] = () -> { if (count[0]++ < 5) holder[0].run(); };
        holder[0].run();
        return captured(3).get() + " " + twice(x -> x * 3).apply(2) + " " + plus.apply(4, 5) + list + count[0] + call(() -> "called");
    }
}

interface Interfaces {
    int COUNT = Integer.parseInt("12");
    int value();
    default int plus(int n) { return helper(value(), n); }
    static int helper(int a, int b) { for (int i = 0; i < b; i++) a++; return a; }
    default Supplier<Integer> later() { return () -> plus(100) + COUNT; }
    interface Second extends Interfaces { default int plus(int n) { return Interfaces.super.plus(n) * 2; } }
    class Impl implements Second {
        public int value() { return 5; }
        public int plus(int n) { return Second.super.plus(n) + 1; }
        String run() { return plus(3) + " " + later().get() + " " + helper(1, 2); }
    }
}

class Locks {
    int n;
    synchronized int locked(int by) { n += by; return Thread.holdsLock(this) ? n : -1; }
    static synchronized boolean lockedClass() { return Thread.holdsLock(Locks.class); }
    int block(Object lock) {
        synchronized (lock) {
            if (n > 1000) throw new IllegalStateException();
            return ++n;
        }
    }
    strictfp double strict(double a) { return a / 3; }
    synchronized void failing() { throw new IllegalStateException("locked"); }
    String run() throws Exception {
        Thread[] threads = new Thread[4];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(() -> { for (int i = 0; i < 100; i++) locked(1); });
            threads[t].start();
        }
        for (Thread thread : threads) thread.join();
        try { failing(); } catch (IllegalStateException e) { n++; }
        return locked(1) + " " + lockedClass() + " " + block(this) + " " + strict(1) + Thread.holdsLock(this);
    }
}

abstract class Generics<T extends Comparable<T>> implements Comparator<T> {
    abstract T make(int n);
    public int compare(T a, T b) { return b.compareTo(a); }
    protected T best(Collection<? extends T> all) { T best = null; for (T t : all) if (best == null || compare(t, best) < 0) best = t; return best; }
    @Deprecated native void missing();
    static class Leaf extends Generics<String> {
        String make(int n) { return "s" + n; }
        @Override public final int compare(String a, String b) { return super.compare(a, b); }
        String run() throws Exception {
            List<String> all = new ArrayList<>();
            for (int i = 0; i < 12; i++) all.add(make(i));
            java.lang.reflect.Method best = Generics.class.getDeclaredMethod("best", Collection.class);
            return best(all) + " " + best.toGenericString() + Generics.class.getDeclaredMethod("missing").isAnnotationPresent(Deprecated.class)
                + ObjectStreamClass.lookup(Stored.class).getSerialVersionUID();
        }
    }
    static class Stored implements Serializable { int a; public int get() { return a; } static int s() { return 1; } }
}

enum Enums {
    ONE { int times(int n) { return n; } },
    TWO { int times(int n) { return 2 * n; } };
    abstract int times(int n);
    static String run() {
        StringBuilder out = new StringBuilder();
        for (Enums e : values()) {
            switch (e) {
                case ONE: out.append("first").append(e.times(4)); break;
                case TWO: out.append("second").append(e.times(4)); break;
            }
            switch (e.name()) { case "ONE": out.append(1); break; case "TWO": out.append(2); break; default: throw new AssertionError(); }
        }
        assert out.length() > 0 : "never";
        return out.append(valueOf("TWO").ordinal()).toString();
    }
}

/** No lambdas and no string concatenation by the JVM: this class is also run as Java 5. */
class Old {
    int turns;
    void loop() { do { turns++; } while (turns % 4 != 0); }
    Old(int n) { turns = n > 3 ? n : -n; }
    static Object pick(boolean a) { return new Integer(a ? Integer.parseInt("1") : Integer.parseInt("2")); }
    static Class<?> type() { return Old.class; }
    int caught(String s) { try { return Integer.parseInt(s); } catch (NumberFormatException e) { return -1; } finally { turns++; } }
    static String run() {
        Old old = new Old(5);
        old.loop();
        StringBuilder out = new StringBuilder();
        out.append(old.turns).append(pick(true)).append(pick(false)).append(type().getName());
        return out.append(old.caught("12")).append(old.caught("x")).append(old.turns).toString();
    }
}

/** Says which of its methods run: the marks must be exactly these. */
class Said {
    static String run() {
        say("run()Ljava/lang/String;");
        new Said(1).yes(true);
        yes(2L, "x");
        Runnable later = () -> say("lambda$run$0()V");
        later.run();
        Runnable never = () -> say("lambda$run$1()V");
        return String.valueOf(Corpus.SAID.size()) + (never == null);
    }
    static { say("<clinit>()V"); }
    Said(int n) { say("<init>(I)V"); }
    Said(String never) { say("<init>(Ljava/lang/String;)V"); }
    void yes(boolean again) { say("yes(Z)V"); if (again) yes(false); if (!again) return; inner(); }
    private void inner() { say("inner()V"); }
    static int yes(long a, String b) { say("yes(JLjava/lang/String;)I"); return no(false); }
    static int no(boolean reallyNo) { say("no(Z)I"); return reallyNo ? no(1) : 0; }
    static int no(int never) { say("no(I)I"); return 1; }
    private String never() { say("never()Ljava/lang/String;"); return null; }
    static void say(String method) {
        if (!Corpus.SAID.contains(method)) Corpus.SAID.add(method);
        if (!Corpus.SAID.contains("say(Ljava/lang/String;)V")) Corpus.SAID.add("say(Ljava/lang/String;)V");
    }
}
