//! What tests depend on, with the part of the agent played by the test: it says which methods ran.

mod counts;
mod fixed;
mod headers;
mod play;
mod state;
mod test_methods;
mod testng;
