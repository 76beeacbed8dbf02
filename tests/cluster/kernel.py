"""Code in a kernel of a user's server, through the Hub's proxy."""

import json
from typing import Any


def run_code(hub: Any, user: str, code: str, name: str = "") -> str:
    """What `code` prints."""
    import websocket  # of jupyter_server's dependencies

    kernel = hub.notebook(user, "api/kernels", name, method="POST", json={"name": "python3"}).json()
    token = hub.api("POST", f"users/{user}/tokens", json={"note": "kernel"}).json()["token"]
    base = f"{hub.url}/user/{user}/{name + '/' if name else ''}".replace("http", "ws", 1)
    channel = websocket.create_connection(
        f"{base}api/kernels/{kernel['id']}/channels", header={"Authorization": f"token {token}"}, timeout=60
    )
    header = {"msg_id": "1", "msg_type": "execute_request", "session": "1", "username": "", "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
    channel.send(
        json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"})
    )
    text = ""
    while True:
        message = json.loads(channel.recv())
        if message["msg_type"] == "stream":
            text += message["content"]["text"]
        if message["msg_type"] == "error":
            raise AssertionError(message["content"])
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle" and text:
            channel.close()
            return text
