/** What `tamis doctor` runs: one method that must be seen. */
public class TamisCheck {
    public static void main(String[] arguments) {}
}
