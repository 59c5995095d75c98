package io.tapline.flink.results;

import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.net.ssl.SSLSocketFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Posts alerts from a dedicated thread, in sequence. After a network error or a status of 5xx, 408
 * or 429, retries the alert up to a maximum number of attempts. {@link Receivers} resolves the
 * receiver for each attempt. Thread-safe.
 *
 * <p>Each request contains the time and, if there is a secret, the HMAC-SHA256 of {@code time + "."
 * + body} in hexadecimal, so that a receiver can authenticate the sender and reject old requests. A
 * request may arrive twice; the alert's ID identifies duplicates.
 */
final class Webhooks implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Webhooks.class);
  static final String TIME_HEADER = "X-Tapline-Time";
  static final String SIGNATURE_HEADER = "X-Tapline-Signature";

  static final int MAX_PENDING = 10_000;
  private static final int MAX_ATTEMPTS = 8;
  private static final long FIRST_PAUSE_MS = 100;
  private static final long LONGEST_PAUSE_MS = 10_000;
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final String secret;
  private final Receivers receivers;
  private final SSLSocketFactory tls;
  private final Deque<AlertDelivery> pending = new ArrayDeque<>();
  private final Thread thread = new Thread(this::run, "tapline-webhooks");
  private boolean closed;
  private long submitted;
  private HttpPost underWay;

  /**
   * Creates a sender.
   *
   * @param secret empty for requests without a signature
   */
  Webhooks(String secret, Receivers receivers) {
    this(secret, receivers, (SSLSocketFactory) SSLSocketFactory.getDefault());
  }

  Webhooks(String secret, Receivers receivers, SSLSocketFactory tls) {
    this.secret = secret;
    this.receivers = receivers;
    this.tls = tls;
    thread.setDaemon(true);
  }

  void start() {
    thread.start();
  }

  /** Adds an alert; drops the oldest waiting alert if the queue is full. */
  synchronized void add(AlertDelivery delivery) {
    if (pending.size() == MAX_PENDING) {
      pending.removeFirst();
      discard("too many alerts are waiting");
    }
    pending.addLast(delivery);
    notifyAll();
  }

  /** Returns the alerts that have not been acknowledged. */
  synchronized List<AlertDelivery> pending() {
    return new ArrayList<>(pending);
  }

  /** Counts a discarded alert; logs each time the count reaches a power of two. */
  private void discard(String reason) {
    submitted++;
    if (Long.bitCount(submitted) == 1) {
      LOG.warn(
          "{} alerts could not be delivered to webhooks so far; latest reason: {}",
          submitted,
          reason);
    }
  }

  private void run() {
    try {
      while (true) {
        AlertDelivery first = first();
        if (first == null) {
          return;
        }
        String fault = deliver(first);
        synchronized (this) {
          // The alert may have been dropped in favor of a newer one in the meantime.
          pending.removeFirstOccurrence(first);
          if (!fault.isEmpty()) {
            discard(fault);
          }
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized AlertDelivery first() throws InterruptedException {
    while (pending.isEmpty() && !closed) {
      wait();
    }
    return closed ? null : pending.getFirst();
  }

  /** Delivers an alert. Returns why it could not be delivered; empty if it was. */
  private String deliver(AlertDelivery delivery) throws InterruptedException {
    String fault = "";
    long pause = FIRST_PAUSE_MS;
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (attempt > 0) {
        Thread.sleep(pause);
        pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
      }
      try {
        int status = post(delivery);
        if (status / 100 == 2) {
          return "";
        }
        fault = delivery.url() + " responded with status " + status;
        if (status / 100 != 5 && status != 408 && status != 429) {
          return fault;
        }
      } catch (Receivers.RefusedReceiver e) {
        return delivery.url() + ": " + e.getMessage();
      } catch (IOException | IllegalArgumentException e) {
        fault = delivery.url() + ": " + e;
      }
    }
    return fault;
  }

  private int post(AlertDelivery delivery) throws IOException {
    List<InetAddress> addresses = receivers.addresses(delivery.url());
    HttpPost post = new HttpPost(URI.create(delivery.url()), tls, TIMEOUT);
    synchronized (this) {
      if (closed) {
        throw new IOException("the job is ending");
      }
      underWay = post;
    }
    byte[] body = delivery.json().getBytes(StandardCharsets.UTF_8);
    return post.send(addresses, headers(delivery), body);
  }

  private Map<String, String> headers(AlertDelivery delivery) {
    String time = Long.toString(System.currentTimeMillis() / 1000);
    Map<String, String> headers = new LinkedHashMap<>();
    headers.put("User-Agent", "tapline");
    headers.put("Content-Type", "application/json");
    headers.put(TIME_HEADER, time);
    if (!secret.isEmpty()) {
      headers.put(SIGNATURE_HEADER, "sha256=" + signature(secret, time, delivery.json()));
    }
    return headers;
  }

  static String signature(String secret, String time, String body) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
      byte[] bytes = mac.doFinal((time + "." + body).getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(bytes);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java provides HmacSHA256", e);
    }
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      notifyAll();
      if (underWay != null) {
        underWay.close();
      }
    }
    thread.interrupt();
  }
}
