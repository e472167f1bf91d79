import java.nio.file.Files;
import java.nio.file.Path;

/** Reads, lists, looks for what is not there, and starts a program. */
public class Read {
    public static void main(String[] args) throws Exception {
        Files.readString(Path.of("data.txt"));
        Files.exists(Path.of("absent.txt"));
        try (var names = Files.list(Path.of("folder"))) {
            names.forEach(name -> Files.isDirectory(name));
        }
        Class.forName("Helper").getMethod("help").invoke(null);
        try {
            Class.forName("Absent");
        } catch (ClassNotFoundException expected) {
        }
        new ProcessBuilder("/bin/cat", "folder/one").start().waitFor();
    }
}

class Helper {
    public static void help() {}
}
