package io.tapline.flink.results;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsExchange;
import com.sun.net.httpserver.HttpsServer;
import io.tapline.flink.support.Deadline;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.ExtendedSSLSession;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests the addresses to which alerts are sent, with receivers on loopback and resolvers that
 * return arbitrary addresses.
 */
class ReceiversTest {
  private static final Backplane NONE = new Backplane(List.of());

  /** An address reserved for documentation, at which nothing answers. */
  private static final String PUBLIC = "192.0.2.1";

  private final List<String> requests = new CopyOnWriteArrayList<>();
  private HttpServer server;
  private int port;

  @BeforeEach
  void start() throws Exception {
    server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    server.createContext("/", this::answer);
    server.start();
    port = server.getAddress().getPort();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private void answer(HttpExchange exchange) throws IOException {
    exchange.getRequestBody().readAllBytes();
    String names = "";
    if (exchange instanceof HttpsExchange secure) {
      names = " " + ((ExtendedSSLSession) secure.getSSLSession()).getRequestedServerNames();
    }
    requests.add(
        exchange.getRequestURI() + " " + exchange.getRequestHeaders().getFirst("Host") + names);
    if (exchange.getRequestURI().getPath().equals("/moved")) {
      exchange.getResponseHeaders().add("Location", "http://127.0.0.1:" + port + "/other");
      exchange.sendResponseHeaders(302, -1);
    } else {
      exchange.sendResponseHeaders(204, -1);
    }
    exchange.close();
  }

  /** Returns a resolver that returns these results in turn, then repeats the last one. */
  private static Resolver answers(AtomicInteger asked, String... responses) {
    return host -> {
      String response = responses[Math.min(asked.getAndIncrement(), responses.length - 1)];
      List<InetAddress> addresses = new ArrayList<>();
      for (String address : response.split(" ")) {
        addresses.add(InetAddress.getByAddress(host, InetAddress.getByName(address).getAddress()));
      }
      return addresses;
    };
  }

  private static Resolver answers(String... responses) {
    return answers(new AtomicInteger(), responses);
  }

  private static void deliver(Receivers receivers, SSLSocketFactory tls, String url)
      throws Exception {
    try (Webhooks webhooks = new Webhooks("", receivers, tls)) {
      webhooks.start();
      webhooks.add(new AlertDelivery(url, "{}"));
      Deadline.await("the alert is delivered or given up", () -> webhooks.pending().isEmpty());
    }
  }

  private static void deliver(Receivers receivers, String url) throws Exception {
    deliver(receivers, (SSLSocketFactory) SSLSocketFactory.getDefault(), url);
  }

  @ParameterizedTest
  @CsvSource({
    "receiver.test, 93.184.216.34, false, true",
    "receiver.test, 10.0.0.5, false, false",
    "receiver.test, 10.0.0.5, true, true",
    "receiver.test, 127.0.0.1, false, false",
    "receiver.test, 127.0.0.1, true, true",
    "receiver.test, 100.64.0.1, false, false",
    "receiver.test, fd00::1, false, false",
    "receiver.test, fd00::1, true, true",
    "receiver.test, 64:ff9b::7f00:1, false, false",
    "receiver.test, 169.254.169.254, false, false",
    "receiver.test, 169.254.169.254, true, false",
    "receiver.test, fe80::1, true, false",
    "receiver.test, 64:ff9b::a9fe:a9fe, true, false",
    "receiver.test, 0.0.0.0, true, false",
    "receiver.test, 224.0.0.1, true, false",
    "receiver.test, '93.184.216.34 10.0.0.5', false, false",
    "receiver.test, '10.0.0.5 93.184.216.34', false, false",
    "receiver.test, '93.184.216.34 2606:2800::1', false, true",
    "receiver.test, '10.0.0.5 169.254.169.254', true, false",
    "127.0.0.1, 127.0.0.1, false, false",
    "127.0.0.1, 127.0.0.1, true, true",
    "169.254.169.254, 169.254.169.254, true, true",
    "[fe80::1], fe80::1, true, true",
    "[::1], ::1, false, false",
    "224.0.0.1, 224.0.0.1, true, false",
  })
  void addressesAreThoseThatTheInventoryAllows(
      String host, String response, boolean isPrivate, boolean allowed) throws Exception {
    String url = "http://" + host + ":8080/";
    Receivers receivers =
        new Receivers(isPrivate ? Set.of(url) : Set.of(), NONE, answers(response));
    if (allowed) {
      assertThat(receivers.addresses(url)).hasSize(response.split(" ").length);
    } else {
      assertThatThrownBy(() -> receivers.addresses(url))
          .isInstanceOf(Receivers.RefusedReceiver.class);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "receiver.test, 10.0.0.9, false",
    "receiver.test, 10.0.0.8, true",
    "10.0.0.9, 10.0.0.9, true",
    "receiver.test, 127.0.0.2, true",
  })
  void namesDoNotLeadToTheBackplane(String host, String response, boolean allowed)
      throws Exception {
    String url = "http://" + host + ":8080/";
    Backplane backplane =
        new Backplane(List.of("unknown.test:9092", "redis.test:6379", "127.0.0.2:6379"));
    Resolver resolver =
        name -> {
          if (name.equals("unknown.test")) {
            throw new UnknownHostException(name);
          }
          return List.of(
              InetAddress.getByName(
                  name.equals("redis.test") ? "10.0.0.9" : name.equals(host) ? response : name));
        };
    Receivers receivers = new Receivers(Set.of(url), backplane, resolver);
    if (allowed) {
      assertThat(receivers.addresses(url)).isNotEmpty();
    } else {
      assertThatThrownBy(() -> receivers.addresses(url))
          .isInstanceOf(Receivers.RefusedReceiver.class)
          .hasMessageContaining("server that Tapline uses");
    }
  }

  @Test
  void onLoopbackThePortIdentifiesTheBackplane() {
    String url = "http://receiver.test:6379/";
    Receivers receivers =
        new Receivers(Set.of(url), new Backplane(List.of("127.0.0.1:6379")), answers("127.0.0.1"));
    assertThatThrownBy(() -> receivers.addresses(url))
        .isInstanceOf(Receivers.RefusedReceiver.class);
  }

  @Test
  void aNameIsLookedUpOnceForEachConnection() throws Exception {
    String url = "http://receiver.test:" + port + "/a?b=c";
    AtomicInteger asked = new AtomicInteger();
    deliver(new Receivers(Set.of(url), NONE, answers(asked, "127.0.0.1", PUBLIC)), url);
    assertThat(requests).containsExactly("/a?b=c receiver.test:" + port);
    assertThat(asked).hasValue(1);
  }

  /**
   * Tests that the job connects to the address that it checked, and that it checks again for the
   * next attempt.
   */
  @Test
  void aReboundNameIsRejected() throws Exception {
    String url = "http://receiver.test:" + port + "/";
    AtomicInteger asked = new AtomicInteger();
    deliver(new Receivers(Set.of(), NONE, answers(asked, PUBLIC, "127.0.0.1")), url);
    assertThat(asked).hasValue(2);
    assertThat(requests).isEmpty();
  }

  @Test
  void theNextAddressIsTriedAfterARefusal() throws Exception {
    String url = "http://receiver.test:" + port + "/";
    deliver(new Receivers(Set.of(url), NONE, answers("127.0.0.3 127.0.0.1")), url);
    assertThat(requests).hasSize(1);
  }

  @Test
  void redirectsAreNotFollowed() throws Exception {
    String url = "http://127.0.0.1:" + port + "/moved";
    deliver(new Receivers(Set.of(url), NONE, Resolver.SYSTEM), url);
    assertThat(requests).containsExactly("/moved 127.0.0.1:" + port);
  }

  @Test
  void tlsVerifiesTheNameInsteadOfTheAddress(@TempDir Path folder) throws Exception {
    SSLContext context = context(folder, "receiver.test");
    HttpsServer secure = HttpsServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    secure.setHttpsConfigurator(new HttpsConfigurator(context));
    secure.createContext("/", this::answer);
    secure.start();
    try {
      int port = secure.getAddress().getPort();
      String url = "https://receiver.test:%d/".formatted(port);
      String otherUrl = "https://other.test:%d/".formatted(port);
      Receivers receivers = new Receivers(Set.of(url, otherUrl), NONE, answers("127.0.0.1"));
      deliver(receivers, context.getSocketFactory(), url);
      assertThat(requests)
          .containsExactly(
              "/ receiver.test:%d [type=host_name (0), value=receiver.test]".formatted(port));
      assertThatThrownBy(
              () ->
                  new HttpPost(
                          URI.create(otherUrl), context.getSocketFactory(), Duration.ofSeconds(10))
                      .send(receivers.addresses(otherUrl), Map.of(), new byte[0]))
          .hasStackTraceContaining("No subject alternative DNS name matching other.test");
      assertThat(requests).hasSize(1);
    } finally {
      secure.stop(0);
    }
  }

  private static SSLContext context(Path folder, String name) throws Exception {
    Path file = folder.resolve("keys.p12");
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
            "-genkeypair",
            "-keyalg",
            "EC",
            "-dname",
            "CN=" + name,
            "-ext",
            "san=dns:" + name,
            "-storetype",
            "PKCS12",
            "-keystore",
            file.toString(),
            "-storepass",
            "changeit");
    Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(keytool.waitFor()).as(output).isZero();
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(file)) {
      keys.load(in, "changeit".toCharArray());
    }
    KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    own.init(keys, "changeit".toCharArray());
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    trusted.setCertificateEntry("receiver", keys.getCertificate(keys.aliases().nextElement()));
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(own.getKeyManagers(), trust.getTrustManagers(), null);
    return context;
  }

  /**
   * Posts to a receiver that responds with these bytes, repeatedly if {@code slow}; returns the
   * status.
   */
  private static int posted(String response, boolean slow) throws Exception {
    try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      Thread receiver =
          new Thread(
              () -> {
                try (Socket socket = listener.accept();
                    OutputStream out = socket.getOutputStream()) {
                  socket.getInputStream().read();
                  do {
                    out.write(response.getBytes(StandardCharsets.US_ASCII));
                    out.flush();
                    Thread.sleep(slow ? 50 : 0);
                  } while (slow);
                } catch (IOException | InterruptedException e) {
                  // The client has closed the connection.
                }
              });
      receiver.start();
      URI uri = URI.create("http://127.0.0.1:" + listener.getLocalPort() + "/");
      HttpPost post =
          new HttpPost(
              uri, (SSLSocketFactory) SSLSocketFactory.getDefault(), Duration.ofSeconds(2));
      try {
        return post.send(List.of(InetAddress.getByName("127.0.0.1")), Map.of(), new byte[1]);
      } finally {
        receiver.interrupt();
        receiver.join();
      }
    }
  }

  @Test
  void onlyTheFinalStatusCounts() throws Exception {
    assertThat(posted("HTTP/1.1 100 Continue\r\nA: b\r\n\r\nHTTP/1.1 503 Busy\r\n", false))
        .isEqualTo(503);
    assertThat(posted("HTTP/1.0 200\n", false)).isEqualTo(200);
  }

  @ParameterizedTest
  @CsvSource({"SSH-2.0-x, not HTTP", "'', the connection ended", "HTTP/1.1 200, ended"})
  void invalidResponsesAreErrors(String answer, String reason) {
    assertThatThrownBy(
            () ->
                posted(
                    answer.isEmpty() ? "" : answer + (reason.equals("ended") ? "" : "\n"), false))
        .isInstanceOf(IOException.class)
        .hasMessageContaining(reason);
  }

  @Test
  void aReceiverCanNeitherBlockNorFloodTheJob() {
    long begin = System.nanoTime();
    assertThatThrownBy(() -> posted("a", true)).hasMessage("no response within 2000 ms");
    assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(20));
    assertThatThrownBy(() -> posted("a".repeat(100_000), false))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("too long");
  }
}
