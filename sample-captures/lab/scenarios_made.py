"""The samples that made.py makes: one function each. Its name is the sample's name, with dashes; its text the comment."""

MADE = {}

OPEN = """
0.000 > S 0:0(0) mss 1460 sackok wscale 7
0.005 < S. 0:0(0) ack 1 mss 1460 sackok wscale 7
0.0051 > . 1:1(0) ack 1
"""
EXCHANGE = OPEN + """
0.006 > P. 1:101(100) ack 1 "GET /api/orders HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n"
0.012 < P. 1:201(200) ack 101 "HTTP/1.1 200 OK\\r\\nContent-Length: 160\\r\\n\\r\\n"
0.0121 > . 101:101(0) ack 201
"""


def http2(kind, flags, stream, body=b""):
    """An HTTP/2 frame."""
    return len(body).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + body


SETTINGS = http2(4, 0, 0)
PING = http2(6, 0, 0, bytes(range(8)))
PONG = http2(6, 1, 0, bytes(range(8)))


def headers(stream, end=True):
    """A request or a response; what it says does not matter here."""
    return http2(1, 5 if end else 4, stream, b"\x82\x86\x84\x87")


def goaway(last, error=0, text=b""):
    return http2(7, 0, 0, last.to_bytes(4, "big") + error.to_bytes(4, "big") + text)


def segment(time, way, seq, ack, data, flags="P."):
    """A frame line with these bytes."""
    text = "".join(f"\\x{byte:02x}" for byte in data)
    return f'{time} {way} {flags} {seq}:{seq + len(data)}({len(data)}) ack {ack} "{text}"\n'


def made(function):
    """Enters a function into the table."""
    MADE[function.__name__.replace("_", "-")] = function
    return function


# Reuse

@made
def goaway_race(s):
    """gRPC over clear-text HTTP/2. The server winds the connection up after its second call; the client's third call
    crosses the GOAWAY, is never answered, and the server closes."""
    s.connection(server="192.0.2.80:50051")
    hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS + headers(1)
    a, b = 1 + len(hello), 1 + len(SETTINGS + headers(1))
    s.frames_of(OPEN + segment(0.006, ">", 1, 1, hello) + segment(0.012, "<", 1, a, SETTINGS + headers(1))
                + f"0.0121 > . {a}:{a}(0) ack {b}\n"
                + segment(0.500, ">", a, b, headers(3)) + segment(0.506, "<", b, a + 13, headers(3))
                + f"0.5061 > . {a + 13}:{a + 13}(0) ack {b + 13}\n"
                + segment(2.000, ">", a + 13, b + 13, headers(5)) + segment(2.002, "<", b + 13, a + 13, goaway(3))
                + f"""
2.0021 > . {a + 26}:{a + 26}(0) ack {b + 30}
2.0022 < F. {b + 30}:{b + 30}(0) ack {a + 13}
2.0052 < R {b + 30}:{b + 30}(0)
""")


@made
def too_many_pings(s):
    """gRPC over clear-text HTTP/2. The client pings every 10 s to keep the connection alive; the server allows that once in
    five minutes and ends the connection after the fourth."""
    s.connection(server="192.0.2.80:50051")
    hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS + headers(1)
    a, b = 1 + len(hello), 1 + len(SETTINGS + headers(1))
    lines = OPEN + segment(0.006, ">", 1, 1, hello) + segment(0.012, "<", 1, a, SETTINGS + headers(1))
    lines += f"0.0121 > . {a}:{a}(0) ack {b}\n"
    for n in range(4):
        t = 10 * (n + 1)
        lines += segment(t + 0.012, ">", a, b, PING) + segment(t + 0.017, "<", b, a + 17, PONG)
        a, b = a + 17, b + 17
        lines += f"{t + 0.0171} > . {a}:{a}(0) ack {b}\n"
    end = goaway(1, 11, b"too_many_pings")
    s.frames_of(lines + segment(40.018, "<", b, a, end) + f"""
40.0181 < F. {b + len(end)}:{b + len(end)}(0) ack {a}
40.0182 > . {a}:{a}(0) ack {b + len(end) + 1}
40.0200 > F. {a}:{a}(0) ack {b + len(end) + 1}
40.0250 < . {b + len(end) + 1}:{b + len(end) + 1}(0) ack {a + 1}
""")


# Opening

@made
def hairpin_tuple_clash(s):
    """Captured at one of three servers behind a load balancer that keeps client addresses. The server connects to its own
    service at the load balancer, which this time leads it back to itself: its SYN comes in from its own address. And another host connects from one port to two
    addresses of the load balancer, and both lead here: the second SYN meets the connection of the first."""
    s.connection("out", client="192.0.2.80:40000", server="192.0.2.8:443")
    s.connection("back", client="192.0.2.80:40000", server="192.0.2.80:8443", isn=(1_000_000, 0), ttl=(63, 64))
    for t in (0, 1, 3, 7):
        s.frames_of(f"""
{t}.0000 [out] > S 0:0(0) mss 1460 sackok wscale 7
{t}.0004 [back] > S 0:0(0) mss 1460 sackok wscale 7
""")
    s.connection("shared", client="192.0.2.10:40000", server="192.0.2.80:8443")
    s.frames_of(EXCHANGE, shift=0.1, name="shared")
    for t in (2, 3):
        s.frames_of(f"""
{t}.2000 > S 70000000:70000000(0) mss 1460 sackok wscale 7
{t}.2001 < . 201:201(0) ack 101
""", name="shared")
    s.frames_of("""
4.1000 > P. 101:201(100) ack 201 "GET /api/orders HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n"
4.1060 < P. 201:401(200) ack 201 "HTTP/1.1 200 OK\\r\\nContent-Length: 160\\r\\n\\r\\n"
4.1061 > . 201:201(0) ack 401
""", name="shared")


@made
def synproxy_blackhole(s):
    """A SYN proxy answers the client (window 0 in its SYN-ACK), opens the window, and the server behind it never gets the
    data."""
    s.frames_of("""
0.0000 > S 0:0(0) mss 1460 sackok wscale 7
0.0050 < S. 0:0(0) ack 1 win 0 mss 1460 sackok wscale 7
0.0051 > . 1:1(0) ack 1
0.0150 < . 1:1(0) ack 1 win 502
0.5000 > P. 1:101(100) ack 1 "GET /api/orders HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n"
0.7100 > P. 1:101(100) ack 1 "GET /api/orders HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n"
1.1300 > P. 1:101(100) ack 1 "GET /api/orders HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n"
1.9700 > P. 1:101(100) ack 1 "GET /api/orders HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n"
""")


@made
def paws_syn_drop(s):
    """Captured at a server that compares timestamps by address. Two hosts stand behind one NAT: the one with the higher
    clock is served, the SYNs of the other are dropped."""
    s.connection("first", client="192.0.2.10:40000")
    s.connection("second", client="192.0.2.10:40001")
    s.frames_of("""
0.0000 > S 0:0(0) mss 1460 ts 318868316
0.0001 < S. 0:0(0) ack 1 mss 1460 ts 9000
0.0200 > . 1:1(0) ack 1 ts 318868336
0.0210 > P. 1:101(100) ack 1 ts 318868337 "GET /api/orders HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n"
0.0220 < P. 1:201(200) ack 101 ts 9022 "HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n\\r\\n"
0.0221 < F. 201:201(0) ack 101 ts 9022
0.0420 > . 101:101(0) ack 202 ts 318868358
0.0430 > F. 101:101(0) ack 202 ts 318868359
0.0431 < . 202:202(0) ack 102 ts 9043
3.0000 [second] > S 0:0(0) mss 1460 ts 120034
4.0000 [second] > S 0:0(0) mss 1460 ts 121034
6.0000 [second] > S 0:0(0) mss 1460 ts 123034
10.0000 [second] > S 0:0(0) mss 1460 ts 127034
""")


# The middle

@made
def conntrack_invalid(s):
    """Captured before a host with containers. An old segment arrives 4 s late; the host's NAT does not claim it, the host
    resets it, and the container goes on until the server has closed."""
    s.connection(client="192.0.2.10:40000", ttl=(63, 60))
    s.frames_of(OPEN + """
0.006 > P. 1:101(100) ack 1 "GET /image HTTP/1.1\\r\\nHost: registry.example\\r\\n\\r\\n"
0.012 < . 1:1449(1448) ack 101 "HTTP/1.1 200 OK\\r\\nContent-Length: 9000000\\r\\n\\r\\n"
0.0121 < . 1449:2897(1448) ack 101
0.0122 < . 2897:4345(1448) ack 101
0.0123 > . 101:101(0) ack 4345
4.000 < . -200000:-198552(1448) ack 101
4.00003 > R 101:101(0) ttl 64
4.0002 < . 4345:5793(1448) ack 101
4.0003 > . 101:101(0) ack 5793
4.0053 < R 5793:5793(0)
""")


@made
def fin_escapes_nat(s):
    """Captured at the server. The NAT has forgotten the client's connection when the client closes: its FIN, and the copies,
    come from its private address, and the server does not know them."""
    s.connection("public", client="198.51.100.7:40000", isn=(1_000_000, 500_000_000))
    s.connection("private", client="10.1.2.3:40000", isn=(1_000_000, 500_000_000))
    s.frames_of(EXCHANGE + """
1.0000 < F. 201:201(0) ack 101
1.0051 > . 101:101(0) ack 202
""", name="public")
    s.frames_of("""
90.000 > F. 101:101(0) ack 202
90.210 > F. 101:101(0) ack 202
90.630 > F. 101:101(0) ack 202
""", name="private")


@made
def conntrack_full(s):
    """Captured at a client behind a firewall whose connection table is full for a while: for two seconds no SYN to any server
    is answered, and a connection that was open before goes on."""
    s.connection("old", server="192.0.2.90:80")
    s.frames_of(EXCHANGE, name="old")
    for n in range(4):
        s.connection(f"before {n}", client=f"192.0.2.10:{40500 + n}", server=f"192.0.2.{80 + n}:443")
        s.frames_of(OPEN + """
0.0500 > F. 1:1(0) ack 1
0.0551 < F. 1:1(0) ack 2
0.0552 > . 2:2(0) ack 2
""", shift=0.1 + 0.1 * n, name=f"before {n}")
    for n in range(12):
        s.connection(str(n), client=f"192.0.2.10:{41000 + n}", server=f"192.0.2.{80 + n % 4}:443")
        for again in (0.0, 1.0, 3.0):
            s.frames_of(f"{1 + 0.15 * n + again} > S 0:0(0) mss 1460 sackok wscale 7", name=str(n))
    s.frames_of("""
4.000 > P. 101:201(100) ack 201 "GET /api/orders HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n"
4.006 < P. 201:401(200) ack 201 "HTTP/1.1 200 OK\\r\\nContent-Length: 160\\r\\n\\r\\n"
4.0061 > . 201:201(0) ack 401
""", name="old")


@made
def window_scale_lost(s):
    """A router on the way takes the windows as they stand in the header, though both ends agreed to multiply the
    server's by four: every segment beyond that is lost."""
    s.connection(server="192.0.2.80:25")
    size, lines = 1380, ["0.000 > S 0:0(0) mss 1460 wscale 0", "0.0027 < S. 0:0(0) ack 1 win 5840 mss 1380 wscale 2",
                         "0.00275 > . 1:1(0) ack 1"]
    def send(t, first, count):
        for i in range(count):
            begin = 1 + size * (first + i)
            lines.append(f"{t + i / 10000:.5f} > . {begin}:{begin + size}({size}) ack 1")
    send(0.0037, 0, 4)
    lines.append("0.0072 < . 1:1(0) ack 5521 win 5800")
    send(0.0073, 4, 10)     # the window ends within the fifth of these
    lines.append("0.0102 < . 1:1(0) ack 8281 win 5800")
    lines.append("0.0104 < . 1:1(0) ack 11041 win 5800")
    for n, (t, back) in enumerate(((0.2204, 0.2230), (0.2231, 0.2260), (0.2261, 0.2290), (0.2291, 0.2320))):
        send(t, 8 + n, 1)
        lines.append(f"{back} < . 1:1(0) ack {1 + size * (9 + n)} win 5800")
    s.frames_of("\n".join(lines))


@made
def duplicate_address(s):
    """Captured on the local network. A second host was given the server's address, and the client's neighbour table now leads
    to that one, which knows no such connection and resets it. The first host closes by its idle timeout, as if nothing had
    happened."""
    s.frames_of(EXCHANGE + """
1.000 > P. 101:201(100) ack 201 "GET /api/orders HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n"
1.0005 < R 201:201(0) ttl 128 id 31 mac 153
5.012 < F. 201:201(0) ack 101
5.0121 > R 101:101(0)
""")


@made
def lb_rehash_rst(s):
    """Six clients of one address of a load balancer. At 10 s a target is added, and half of the connections are led to it:
    their next requests are answered by resets from a host that is one hop further away. The others go on."""
    for n in range(6):
        name = str(n)
        s.connection(name, client=f"192.0.2.{10 + n}:40000", ttl=(64, 62))
        s.frames_of(EXCHANGE, shift=0.5 * n, name=name)
        for r, t in enumerate((5.0 + 0.3 * n, 10.2 + 0.3 * n, 14.0 + 0.3 * n)):
            c, a = 101 + 100 * r, 201 + 200 * r
            s.frames_of(f"""
{t} > P. {c}:{c + 100}(100) ack {a} "GET /api/orders HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n"
""", name=name)
            if r == 1 and n % 2:
                s.frames_of(f"{t + 0.005} < R {a}:{a}(0) ttl 61", name=name)
                break
            s.frames_of(f"""
{t + 0.006} < P. {a}:{a + 200}(200) ack {c + 100} "HTTP/1.1 200 OK\\r\\nContent-Length: 160\\r\\n\\r\\n"
{t + 0.0061} > . {c + 100}:{c + 100}(0) ack {a + 200}
""", name=name)


@made
def options_stripped(s):
    """Captured on both sides of a firewall that removes the options which it does not know: each SYN is there twice, once
    with window scaling, SACK and timestamps, once without."""
    s.frames_of("""
0.0000 > S 0:0(0) id 7 mss 1460 sackok wscale 7 ts 5000
0.0002 > S 0:0(0) id 7 mss 1460 ttl 63
0.0050 < S. 0:0(0) id 8 ack 1 mss 1460 ttl 64
0.0052 < S. 0:0(0) id 8 ack 1 mss 1460 ttl 63
0.0053 > . 1:1(0) id 9 ack 1 win 64000
0.0055 > . 1:1(0) id 9 ack 1 win 64000 ttl 63
0.0060 > P. 1:101(100) id 10 ack 1 win 64000 "GET /api/orders HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n"
0.0062 > P. 1:101(100) id 10 ack 1 win 64000 ttl 63 "GET /api/orders HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n"
0.0120 < P. 1:201(200) id 11 ack 101 win 65000 "HTTP/1.1 200 OK\\r\\nContent-Length: 160\\r\\n\\r\\n"
0.0122 < P. 1:201(200) id 11 ack 101 win 65000 ttl 63 "HTTP/1.1 200 OK\\r\\nContent-Length: 160\\r\\n\\r\\n"
0.0123 > . 101:101(0) id 12 ack 201 win 64000
0.0125 > . 101:101(0) id 12 ack 201 win 64000 ttl 63
""")


@made
def split_connection_proxy(s):
    """Captured at the client, on a satellite link. A box at its near end acknowledges the upload within 2 ms; the server is
    600 ms away, as its SYN-ACK and its answer show."""
    s.connection(ttl=(64, 52))
    s.frames_of("""
0.0000 > S 0:0(0) mss 1460 sackok wscale 7
0.6000 < S. 0:0(0) ack 1 mss 1460 sackok wscale 7
0.6001 > . 1:1(0) ack 1
0.6010 > P. 1:1449(1448) ack 1 "POST /upload HTTP/1.1\\r\\nHost: api.example\\r\\nContent-Length: 5600\\r\\n\\r\\n"
0.6011 > . 1449:2897(1448) ack 1
0.6030 < . 1:1(0) ack 1449 ttl 254
0.6031 < . 1:1(0) ack 2897 ttl 254
0.6032 > . 2897:4345(1448) ack 1
0.6033 > P. 4345:5793(1448) ack 1
0.6052 < . 1:1(0) ack 4345 ttl 254
0.6053 < . 1:1(0) ack 5793 ttl 254
1.2500 < P. 1:201(200) ack 5793 "HTTP/1.1 201 Created\\r\\nContent-Length: 140\\r\\n\\r\\n"
1.2501 > . 5793:5793(0) ack 201
""")


# Transfer and the rest

@made
def window_probe_broken(s):
    """Captured at the server, whose program had paused. Its window opens again, but that message is lost on the way, and the
    client's small TCP stack asks by bare acknowledgements, which draw no answer: both wait for ever."""
    s.frames_of("""
0.0000 > S 0:0(0) mss 1460
0.0001 < S. 0:0(0) ack 1 mss 1460 win 2920
0.0400 > . 1:1(0) ack 1
0.0410 > . 1:1461(1460) ack 1 "POST /upload HTTP/1.1\\r\\nHost: api.example\\r\\nContent-Length: 9000\\r\\n\\r\\n"
0.0411 > . 1461:2921(1460) ack 1
0.0412 < . 1:1(0) ack 2921 win 0
0.3000 < . 1:1(0) ack 2921 win 2920
1.0820 > . 2921:2921(0) ack 1
2.0820 > . 2921:2921(0) ack 1
4.0820 > . 2921:2921(0) ack 1
8.0820 > . 2921:2921(0) ack 1
16.0820 > . 2921:2921(0) ack 1
""")


@made
def ack_loop(s):
    """A box has changed the numbers of one direction: each end takes the other's acknowledgement for something out of place
    and answers it, without end."""
    s.frames_of(EXCHANGE)
    for n in range(70):
        t = 1 + 0.004 * n
        s.frames_of(f"""
{t} > . 101:101(0) ack 700
{t + 0.002} < . 900:900(0) ack 101
""")


# Captures that lack or repeat something

