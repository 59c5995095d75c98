package io.tapline.flink.results;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.tapline.flink.support.Deadline;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class WebhooksTest {
  private static final String OPENSSL =
      "b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163";

  private final List<String> bodies = new CopyOnWriteArrayList<>();
  private final List<String> signatures = new CopyOnWriteArrayList<>();
  private final List<String> times = new CopyOnWriteArrayList<>();
  private final AtomicInteger failures = new AtomicInteger();
  private HttpServer server;
  private String url;
  private volatile int failureStatus = 503;

  @BeforeEach
  void start() throws Exception {
    server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    server.createContext(
        "/",
        exchange -> {
          String body =
              new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
          boolean fails = failures.getAndDecrement() > 0;
          if (!fails) {
            bodies.add(body);
            times.add(exchange.getRequestHeaders().getFirst(Webhooks.TIME_HEADER));
            signatures.add(
                String.valueOf(exchange.getRequestHeaders().getFirst(Webhooks.SIGNATURE_HEADER)));
          }
          exchange.sendResponseHeaders(fails ? failureStatus : 204, -1);
          exchange.close();
        });
    server.start();
    url = "http://127.0.0.1:" + server.getAddress().getPort() + "/alerts";
  }

  /** Returns receivers as if the inventory listed these URLs as private. */
  private static Receivers listed(String... urls) {
    return new Receivers(Set.of(urls), new Backplane(List.of()), Resolver.SYSTEM);
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  @Test
  void alertsAreSentInOrderAndSignedOnceTheReceiverRuns() throws Exception {
    failures.set(3);
    try (Webhooks webhooks = new Webhooks("secret", listed(url))) {
      webhooks.start();
      webhooks.add(new AlertDelivery(url, "{\"a\":1}"));
      webhooks.add(new AlertDelivery(url, "{\"a\":2}"));
      Deadline.await("both alerts", () -> webhooks.pending().isEmpty());
    }
    assertThat(bodies).containsExactly("{\"a\":1}", "{\"a\":2}");
    for (int i = 0; i < 2; i++) {
      assertThat(signatures.get(i))
          .isEqualTo("sha256=" + Webhooks.signature("secret", times.get(i), bodies.get(i)));
    }
  }

  /** Tests the signature against `printf '1700000000.{}' | openssl dgst -sha256 -hmac secret`. */
  @Test
  void theSignatureMatchesOtherTools() {
    assertThat(Webhooks.signature("secret", "1700000000", "{}")).isEqualTo(OPENSSL);
  }

  @Test
  void sendsNoSignatureWithoutASecret() throws Exception {
    try (Webhooks webhooks = new Webhooks("", listed(url))) {
      webhooks.start();
      webhooks.add(new AlertDelivery(url, "{}"));
      Deadline.await("the alert", () -> webhooks.pending().isEmpty());
    }
    assertThat(signatures).containsExactly("null");
  }

  @Test
  void aRefusedAlertIsNotResent() throws Exception {
    failures.set(1);
    failureStatus = 410;
    try (Webhooks webhooks = new Webhooks("", listed(url))) {
      webhooks.start();
      webhooks.add(new AlertDelivery(url, "{\"refused\":true}"));
      webhooks.add(new AlertDelivery(url, "{\"next\":true}"));
      Deadline.await("the next alert", () -> webhooks.pending().isEmpty());
    }
    assertThat(bodies).containsExactly("{\"next\":true}");
  }

  @Test
  void waitingEventsAreBoundedAndTheOldestAreDropped() {
    try (Webhooks webhooks = new Webhooks("", listed(url))) {
      for (int i = 0; i < Webhooks.MAX_PENDING + 5; i++) {
        webhooks.add(new AlertDelivery(url, Integer.toString(i)));
      }
      assertThat(webhooks.pending()).hasSize(Webhooks.MAX_PENDING);
      assertThat(webhooks.pending().get(0).json()).isEqualTo("5");
    }
  }
}
