"""No way out of this machine; what is tried all the same is noted."""

NO_NETWORK = """
import os
import socket

def refuse(self, address, *rest):
    if self.family == socket.AF_UNIX or address[0] in ("127.0.0.1", "::1", "localhost"):
        return connect(self, address, *rest)
    with open(os.environ["ATTEMPTS"], "a") as file:
        print(address, file=file)
    raise OSError(f"no network: {address}")

connect = socket.socket.connect
socket.socket.connect = socket.socket.connect_ex = refuse
"""
"""For this process, or the `sitecustomize.py` of another; the file `ATTEMPTS` has the notes."""
