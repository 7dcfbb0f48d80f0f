"""served(FOLDER): the files of a folder behind http://, by the fault server, as long as the block runs; gives their URL."""
import contextlib
import os
import subprocess
import sys
import tempfile
import time


@contextlib.contextmanager
def served(folder):
    with tempfile.TemporaryDirectory() as scratch:
        port_file = os.path.join(scratch, "port")
        server = subprocess.Popen([sys.executable, os.path.join(os.path.dirname(__file__), "fault_server.py"), folder, "--port-file", port_file],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(1200):
                if os.path.exists(port_file):
                    break
                time.sleep(0.05)
            with open(port_file) as f:
                yield f"http://127.0.0.1:{f.read().strip()}"
        finally:
            server.terminate()
            server.wait()
