package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.Inet4Address;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A virtual link to a web server in a network namespace. At this end, a client requests /r/0, /r/1,
 * … in sequence, each on a connection from a different port, and records the requests. Each packet
 * crosses {@link #networkInterface} once.
 */
final class WebLink implements AutoCloseable {
  static final int PORT = 8080;

  private static final long PAUSE_MS = 15;
  private static final int TIMEOUT_MS = 20_000;
  private static final int ATTEMPTS = 600;
  private static final int LOWEST_PORT = 10_000;

  private static final AtomicInteger OPENED = new AtomicInteger();

  /**
   * Name that differs for each link of a test run, since the link of a removed namespace remains
   * for a moment.
   */
  private final String name =
      "tl%d-%d".formatted(ProcessHandle.current().pid() % 10_000_000, OPENED.incrementAndGet());

  private final String prefix;
  private final List<Integer> clientPorts = new ArrayList<>();
  private final Thread client = new Thread(this::sendRequests, "client");
  private Cli.Running web;
  private int nextPort = LOWEST_PORT;
  private IOException failure;
  private volatile boolean stopping;

  private WebLink() {
    // The address range is reserved for benchmarks, so no host should use it.
    ThreadLocalRandom random = ThreadLocalRandom.current();
    prefix = "198.%d.%d.".formatted(random.nextInt(18, 20), random.nextInt(256));
  }

  /**
   * Creates the link and starts the client. Skips the test, with the reason, if namespaces are not
   * available.
   */
  static WebLink open() throws Exception {
    assumeTrue(
        System.getProperty("user.name").equals("root"), "SKIPPED: network namespaces need root");
    WebLink link = new WebLink();
    assumeTrue(
        link.run("ip", "netns", "add", link.name), "SKIPPED: network namespaces are not available");
    try {
      link.connect();
      link.serve();
      link.client.start();
      return link;
    } catch (Exception | AssertionError e) {
      link.close();
      throw e;
    }
  }

  private boolean run(String... command) throws Exception {
    return new ProcessBuilder(command).inheritIO().start().waitFor() == 0;
  }

  /** Runs a command, and fails if it does not succeed. */
  void require(String command) throws Exception {
    assertThat(run(command.split(" "))).as(command).isTrue();
  }

  private void connect() throws Exception {
    String device = networkInterface();
    require("ip link add " + device + " type veth peer name web netns " + name);
    require("ip addr add " + prefix + "1/24 dev " + device);
    require("ip link set " + device + " up");
    require("ip -n " + name + " addr add " + address() + "/24 dev web");
    require("ip -n " + name + " link set web up");
  }

  private void serve() throws Exception {
    List<String> command = new ArrayList<>(List.of("ip", "netns", "exec", name));
    command.addAll(List.of("python3", "-m", "http.server", Integer.toString(PORT)));
    command.addAll(List.of("--bind", address(), "--directory", "/proc/self/task"));
    web = Cli.startCommand(Map.of(), command);
    for (int attempt = 0; ; attempt++) {
      try {
        connected().close();
        return;
      } catch (ConnectException notYet) {
        assertThat(attempt)
            .as("the web server listens; its output: %s", web.stderr())
            .isLessThan(ATTEMPTS);
        Thread.sleep(50);
      }
    }
  }

  /** Returns the name of the network interface at the client's end. */
  String networkInterface() {
    return name + "a";
  }

  /** Returns the web server's address. */
  String address() {
    return prefix + "2";
  }

  /** Connects from a new port, since the ports that the system chooses repeat within minutes. */
  private Socket connected() throws IOException {
    Socket socket = new Socket();
    socket.setSoTimeout(TIMEOUT_MS);
    while (!socket.isBound()) {
      try {
        socket.bind(new InetSocketAddress(Inet4Address.getByName(prefix + "1"), nextPort++));
      } catch (BindException e) {
        // Tries the next port.
      }
    }
    socket.connect(new InetSocketAddress(Inet4Address.getByName(address()), PORT), TIMEOUT_MS);
    return socket;
  }

  private void sendRequests() {
    try {
      while (!stopping) {
        int port = sendRequest(done());
        synchronized (this) {
          clientPorts.add(port);
          notifyAll();
        }
        Thread.sleep(PAUSE_MS);
      }
    } catch (IOException e) {
      synchronized (this) {
        failure = e;
        notifyAll();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Sends the request with this number on a new connection; returns the client's port once the
   * response is complete.
   */
  private int sendRequest(int number) throws IOException {
    try (Socket socket = connected()) {
      String request = "GET " + url(number) + " HTTP/1.0\r\nHost: web\r\n\r\n";
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      String response =
          new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
      assertThat(response).startsWith("HTTP/1.0 404 ");
      return socket.getLocalPort();
    }
  }

  static String url(int number) {
    return "/r/" + number;
  }

  /** Returns the number of completed requests, which is also the number of the current request. */
  synchronized int done() {
    return clientPorts.size();
  }

  synchronized int clientPort(int number) {
    return clientPorts.get(number);
  }

  /** Waits for this many further requests; returns the total number of completed requests. */
  synchronized int awaitMore(int count) throws Exception {
    int wanted = clientPorts.size() + count;
    long deadlineMs = System.currentTimeMillis() + TimeUnit.SECONDS.toMillis(120);
    while (clientPorts.size() < wanted) {
      assertThat(failure).as("the client's failure").isNull();
      assertThat(System.currentTimeMillis()).as("requests continue").isLessThan(deadlineMs);
      wait(1000);
    }
    return clientPorts.size();
  }

  @Override
  public void close() throws Exception {
    stopping = true;
    client.join();
    if (web != null) {
      web.close();
    }
    run("ip", "netns", "del", name);
  }
}
