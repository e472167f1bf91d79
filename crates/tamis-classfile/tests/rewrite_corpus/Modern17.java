package corpus;

import java.util.*;
import java.util.stream.*;

/** What came between Java 9 and 17. */
public class Modern17 {
    sealed interface Shape permits Circle, Box, Empty {}
    record Circle(double radius) implements Shape {
        Circle { if (radius < 0) throw new IllegalArgumentException("negative"); }
        static Circle unit() { return new Circle(1); }
    }
    record Box(int width, int height, String... names) implements Shape {
        Box(int side) { this(side, side > 3 ? side : -side, side > 3 ? "large" : "small"); }
        int area() { return width * height; }
    }
    enum Empty implements Shape { INSTANCE }

    interface WithPrivate {
        private int secret(int n) { while (n > 10) n -= 7; return n; }
        private static String hidden(long a, Object b) { return a + "-" + b; }
        default String shown(int n) { return secret(n) + hidden(n, "h"); }
    }

    static String describe(Object o) {
        if (o instanceof Circle c && c.radius() > 0.5) return "circle " + c;
        if (o instanceof Box b) return "box " + b.area() + b.names()[0];
        return switch (o.hashCode() & 3) { case 0 -> "zero"; case 1 -> { int x = 0; while (x < 3) x++; yield "one" + x; } default -> "more"; };
    }

    class Inner { private int hidden = 4; private int get() { return hidden; } }
    private static int nestMate(Modern17 m) { return m.new Inner().get() + m.new Inner().hidden; }

    public static String run() {
        var texts = Stream.of(Circle.unit(), new Box(4), new Box(2), Empty.INSTANCE.name())
            .map(Modern17::describe).collect(Collectors.joining("|"));
        String failure;
        try { failure = "" + new Circle(-1); } catch (IllegalArgumentException e) { failure = e.getMessage(); }
        return texts + failure + new WithPrivate() {}.shown(33) + nestMate(new Modern17())
            + new Circle(2).equals(new Circle(2)) + IntStream.range(0, 50).filter(i -> i % 7 == 3).sum()
            + """
              text
              block""";
    }
}
