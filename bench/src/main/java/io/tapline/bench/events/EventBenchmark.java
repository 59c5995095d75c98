package io.tapline.bench.events;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.concurrent.TimeUnit;

/**
 * Measures the latency of events, from a packet's arrival at an interface to the event's arrival at
 * a client of the server's event stream.
 */
public final class EventBenchmark implements AutoCloseable {
  private static final long SETTLE_SECONDS = 5;
  private static final String QUERY =
      "PARSE marked_packet(dscp=%d) FROM * TO * LIMIT 3600s SAMPLE * PROCESS (top-k: k=3, w=10s)";

  private final MeasuredServer server;
  private final String query;
  private final EventClient client;

  /**
   * The outcomes of one phase's packets.
   *
   * @param sent packets
   * @param received events that arrived
   * @param missing events dropped for lack of room, counted by the server
   * @param unseen packets that reached no parser, counted by the monitor
   * @param latencies from a packet to its event's arrival
   */
  public record Phase(long sent, long received, long missing, long unseen, Latencies latencies) {}

  /** Starts a query on the server. */
  public EventBenchmark(MeasuredServer server) throws IOException, InterruptedException {
    this.server = server;
    query = server.start(QUERY.formatted(MarkedLink.CODE_POINT));
    client = new EventClient(server.events(query));
  }

  /** Returns the number of packets that the monitor counted as lost before any parser saw them. */
  private long unseen() throws IOException, InterruptedException {
    JsonNode dropped = server.state(query).at("/totals/dropped");
    return dropped.path("kernel_missed").asLong() + dropped.path("queue_full").asLong();
  }

  /** Sends marked packets at a rate, and waits for their outcomes. */
  public Phase measure(int perSecond, int seconds) throws IOException, InterruptedException {
    long receivedBefore = client.received();
    long missingBefore = client.missing();
    long unseenBefore = unseen();
    client.begin();
    long sent = server.link().send(perSecond, seconds);
    settle(sent, receivedBefore, missingBefore, unseenBefore);
    return new Phase(
        sent,
        client.received() - receivedBefore,
        client.missing() - missingBefore,
        unseen() - unseenBefore,
        new Latencies(client.ages()));
  }

  /** Waits until all packets are accounted for and events stop arriving, or a time limit passes. */
  private void settle(long sent, long receivedBefore, long missingBefore, long unseenBefore)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SETTLE_SECONDS);
    for (long previousNumber = -1; System.nanoTime() < end; Thread.sleep(500)) {
      long received = client.received();
      long known =
          received - receivedBefore + client.missing() - missingBefore + unseen() - unseenBefore;
      if (received == previousNumber && known >= sent) {
        return;
      }
      previousNumber = received;
    }
  }

  @Override
  public void close() throws IOException {
    client.close();
  }
}
