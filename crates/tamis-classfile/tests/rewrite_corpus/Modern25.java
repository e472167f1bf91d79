package corpus;

import java.util.*;

/** What came after Java 17: patterns in switches, records taken apart, code before `super`. */
public class Modern25 {
    sealed interface Tree<T> {}
    record Leaf<T>(T value) implements Tree<T> {}
    record Node<T>(Tree<T> left, Tree<T> right) implements Tree<T> {}

    static int depth(Tree<?> tree) {
        return switch (tree) {
            case Leaf<?>(var v) when v instanceof String s && s.length() > 3 -> s.length();
            case Leaf<?> l -> 1;
            case Node<?>(Leaf<?>(Integer i), var right) -> i + depth(right);
            case Node<?>(var left, var right) -> 1 + Math.max(depth(left), depth(right));
        };
    }

    static class Base { final int n; Base(int n) { this.n = n; } }
    static class Early extends Base {
        final String text;
        Early(String s) {
            if (s.isEmpty()) throw new IllegalArgumentException("empty");
            int n = 0;
            for (char c : s.toCharArray()) n += c;
            this.text = s;
            super(n);
        }
    }

    static String kind(Object o) {
        return switch (o) { case null -> "null"; case Integer i when i > 10 -> "big"; case Integer i -> "int"; case String s -> s; case int[] a -> "a" + a.length; default -> "?"; };
    }

    public static String run() {
        String failure;
        try { failure = "" + new Early("").n; } catch (IllegalArgumentException e) { failure = e.getMessage(); }
        return depth(new Node<>(new Leaf<>(3), new Node<>(new Node<>(new Leaf<>("x"), new Leaf<>("long one")), new Leaf<>(2))))
            + kind(null) + kind(11) + kind(2) + kind("s") + kind(new int[3]) + kind(1.0) + failure + new Early("ab").n + new Early("c").text;
    }
}
