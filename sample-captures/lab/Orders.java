import java.io.IOException;
import java.net.InetAddress;
import java.util.Collections;
import java.util.concurrent.TimeUnit;
import okhttp3.ConnectionPool;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

/**
 * A client of http://api.example/api/orders with one OkHttp connection pool.
 *
 * Orders POOL_IDLE_SECONDS RETRY STEP...  with the steps GET, POST, and a number of seconds to wait.
 * A wait counts from the end of the last answer. What the program sees goes to standard output, with the time.
 */
public class Orders {
    private static long lastAnswer = System.nanoTime();

    public static void main(String[] args) throws Exception {
        byte[] server = {(byte) 192, 0, 2, 80};
        OkHttpClient client = new OkHttpClient.Builder()
                .dns(host -> Collections.singletonList(InetAddress.getByAddress(host, server)))
                .protocols(Collections.singletonList(Protocol.HTTP_1_1))
                .connectionPool(new ConnectionPool(5, Long.parseLong(args[0]), TimeUnit.SECONDS))
                .retryOnConnectionFailure(Boolean.parseBoolean(args[1]))
                .build();
        for (int i = 2; i < args.length; i++) {
            if (Character.isDigit(args[i].charAt(0))) {
                long until = lastAnswer + (long) (Double.parseDouble(args[i]) * 1e9);
                TimeUnit.NANOSECONDS.sleep(until - System.nanoTime());
            } else {
                call(client, args[i]);
            }
        }
        // The sockets outlive the last answer a little, as in a program that runs on.
        Thread.sleep(500);
        Runtime.getRuntime().halt(0);
    }

    private static void call(OkHttpClient client, String method) {
        Request request = new Request.Builder()
                .url("http://api.example/api/orders")
                .method(method, method.equals("POST")
                        ? RequestBody.create(MediaType.get("application/json"), "{\"item\":7,\"count\":1}") : null)
                .build();
        say(method + " /api/orders");
        try (Response response = client.newCall(request).execute()) {
            int size = response.body().bytes().length;
            lastAnswer = System.nanoTime();
            say(response.code() + ", " + size + " bytes");
        } catch (IOException e) {
            StringBuilder words = new StringBuilder(e.toString().replace("\n", "\\n"));
            for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause()) {
                words.append(" caused by ").append(cause.toString().replace("\n", "\\n"));
            }
            say(words.toString());
        }
    }

    private static void say(String words) {
        java.time.Instant now = java.time.Instant.now();
        System.out.printf("%d.%06d %s%n", now.getEpochSecond(), now.getNano() / 1000, words);
    }
}
