"""The scenarios: one function each. Its name is the sample's name, with dashes.

The first paragraph of a function's text is printed into the capture as its comment.
"""

SCENARIOS = {}


def scenario(delay=0.0025):
    """Enters a function into the table. The delay is one way; 2.5 ms each way is a server in the same city."""
    def enter(function):
        SCENARIOS[function.__name__.replace("_", "-")] = (function, delay)
        return function
    return enter


# Connection reuse: real nginx, real OkHttp

@scenario()
def okhttp_half_closed_reuse(lab):
    """nginx 1.22.1 (keepalive_timeout 10 s) and OkHttp 3.13.1 (pool idle time 5 min, no retry): the pool hands out a
    connection that the server closed 3.4 s before; the GET is answered by RST, the program gets EOFException."""
    lab.nginx("10s")
    lab.okhttp(300, False, "GET", 13.4, "GET")
