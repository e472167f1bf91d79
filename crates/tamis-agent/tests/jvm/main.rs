//! The agent in real JVMs: a socket as tamis has it, small programs, every JDK of this machine.

mod children;
mod classes;
mod harness;
mod junit3;
mod junit4;
mod lookups;
mod maven;
mod mockito;
mod platform;
mod robust;
mod state;
mod testng;
