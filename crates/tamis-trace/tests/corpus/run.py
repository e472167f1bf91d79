"""Imports, lists, looks for what is not there, starts programs."""
import json, os, subprocess, sys, tempfile, xml.dom.minidom

sys.path.insert(0, os.getcwd())
import helper

try:
    import no_such_module
except ImportError:
    pass
for entry in os.scandir("folder"):
    entry.is_dir()
    entry.stat()
open("data.txt").read()
os.path.exists("absent.txt")
os.chdir("folder")
open("one").read()
os.chdir("..")
folder = os.open("folder", os.O_RDONLY)
os.stat("two", dir_fd=folder)
os.listdir(folder)
subprocess.run(["/bin/cat", "folder/two"], stdout=subprocess.DEVNULL)
subprocess.run("cat folder/one | wc -l", shell=True, stdout=subprocess.DEVNULL)
subprocess.run(["cat", "one"], cwd="folder", stdout=subprocess.DEVNULL)
if os.fork() == 0:
    os.execv("/bin/cat", ["cat", "data.txt"])
os.wait()
