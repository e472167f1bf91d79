pub fn init(_: &std::path::Path) -> String {
    String::new()
}
