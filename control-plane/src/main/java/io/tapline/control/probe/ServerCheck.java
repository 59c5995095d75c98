package io.tapline.control.probe;

import io.tapline.control.PipelineException;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.RedisEndpoint;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Rejects servers that can't be used and reports the reasons. Takes at most three seconds, since
 * all servers are checked in parallel. One usable broker of several is sufficient.
 */
public final class ServerCheck {
  private static final Duration TIMEOUT = Duration.ofMillis(2_200);

  /** Extra time for name servers, whose lookups have no deadline. */
  private static final Duration GRACE = Duration.ofMillis(100);

  private static final String LATE = "resolving the name timed out; is it spelled right?";

  private final Deadline deadline = Deadline.in(TIMEOUT);
  private final List<Server> servers = new ArrayList<>();

  /** A service, and the checks of its servers. */
  private record Server(
      String name, List<String> addresses, List<CompletableFuture<String>> faults) {
    Optional<String> fault(Deadline deadline) {
      List<String> allFaults = new ArrayList<>();
      for (int i = 0; i < addresses.size(); i++) {
        String fault =
            faults.get(i).completeOnTimeout(LATE, deadline.leftMs(), TimeUnit.MILLISECONDS).join();
        if (fault.isEmpty()) {
          return Optional.empty();
        }
        allFaults.add(name + " " + addresses.get(i) + ": " + fault);
      }
      return Optional.of(String.join("\n", allFaults));
    }
  }

  private interface Ask {
    void run() throws Fault;
  }

  private ServerCheck() {}

  /**
   * Checks the servers.
   *
   * @throws PipelineException with one line per server that can't be used
   */
  public static void require(Optional<KafkaEndpoint> kafka, Optional<RedisEndpoint> redis)
      throws PipelineException {
    ServerCheck check = new ServerCheck();
    kafka.ifPresent(check::ask);
    redis.ifPresent(check::ask);
    Deadline last = Deadline.in(TIMEOUT.plus(GRACE));
    List<String> faults =
        check.servers.stream().flatMap(server -> server.fault(last).stream()).toList();
    if (!faults.isEmpty()) {
      throw new PipelineException(PipelineException.Kind.RESOURCES, String.join("\n", faults));
    }
  }

  private void ask(KafkaEndpoint kafka) {
    List<Address> brokers = Address.list(kafka.brokers());
    servers.add(
        new Server(
            "Kafka broker",
            brokers.stream().map(Address::toString).toList(),
            brokers.stream()
                .map(broker -> new Probe(broker, kafka.tls(), "kafka", new KafkaProtocolCheck()))
                .map(probe -> checked(() -> probe.run(deadline)))
                .toList()));
  }

  private void ask(RedisEndpoint redis) {
    Ask ask =
        redis.at() instanceof InetSocketAddress tcp
            ? () ->
                new Probe(
                        new Address(tcp.getHostString(), tcp.getPort()),
                        redis.tls(),
                        "redis",
                        new RedisProtocolCheck(redis.login()))
                    .run(deadline)
            : () -> requireListener((UnixDomainSocketAddress) redis.at());
    servers.add(new Server("Redis", List.of(redis.address()), List.of(checked(ask))));
  }

  private static void requireListener(UnixDomainSocketAddress socket) throws Fault {
    if (!Files.exists(socket.getPath())) {
      throw new Fault("there is no such socket; is it running, and is the path right?");
    }
    try {
      SocketChannel.open(socket).close();
    } catch (IOException e) {
      throw new Fault("no connection: " + e.getMessage() + "; is it running?", e);
    }
  }

  /** Returns a future that completes with the fault; with an empty string if there is none. */
  private static CompletableFuture<String> checked(Ask ask) {
    CompletableFuture<String> response = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                ask.run();
                response.complete("");
              } catch (Fault e) {
                response.complete(e.getMessage());
              } catch (RuntimeException e) {
                response.complete("the check failed: " + e);
              }
            },
            "server-check");
    thread.setDaemon(true);
    thread.start();
    return response;
  }
}
