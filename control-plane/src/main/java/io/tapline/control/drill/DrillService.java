package io.tapline.control.drill;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.util.concurrent.ListenableFuture;
import io.grpc.StatusRuntimeException;
import io.tapline.control.drill.DrillException.Kind;
import io.tapline.schema.rpc.AggregateFunction;
import io.tapline.schema.rpc.AggregateReply;
import io.tapline.schema.rpc.AggregateRequest;
import io.tapline.schema.rpc.NodeDescription;
import io.tapline.schema.rpc.PcapngPiece;
import io.tapline.schema.rpc.QueryRequest;
import io.tapline.schema.rpc.RowBatch;
import io.tapline.schema.rpc.Tails;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.ConcurrentHashMap;

/** The MultiLog nodes of the hosts. Any thread may call; each call waits for its answer. */
public final class DrillService implements AutoCloseable {
  private static final Duration ANSWER = Duration.ofSeconds(60);

  private final Map<String, NodeClient> nodes = new LinkedHashMap<>();
  private final Snapshots snapshots = new Snapshots();
  private final WatchService watches;

  /** By node's start: a node that was updated has another schema. */
  private final Map<String, RowLayout> layouts = new ConcurrentHashMap<>();

  /**
   * Connects to them when they are asked first.
   *
   * @throws IllegalArgumentException if two have the same name
   */
  public DrillService(List<NodeAddress> addresses) {
    for (NodeAddress address : addresses) {
      if (nodes.put(address.name(), new NodeClient(address)) != null) {
        nodes.values().forEach(NodeClient::close);
        throw new IllegalArgumentException("two nodes are called " + address.name());
      }
    }
    watches = new WatchService(nodes);
  }

  /** What the nodes watch for. */
  public WatchService watches() {
    return watches;
  }

  /**
   * A node and how it is.
   *
   * @param description null if it does not answer
   * @param error why it does not; empty if it does
   */
  public record NodeState(NodeAddress address, NodeDescription description, String error) {}

  /** All nodes, asked now. */
  public List<NodeState> states() {
    Map<NodeClient, ListenableFuture<NodeDescription>> asked = new LinkedHashMap<>();
    nodes.values().forEach(node -> asked.put(node, node.describe(Snapshots.PATIENCE)));
    List<NodeState> states = new ArrayList<>();
    asked.forEach(
        (node, answer) -> {
          try {
            states.add(new NodeState(node.address(), Snapshots.result(answer), ""));
          } catch (StatusRuntimeException e) {
            states.add(new NodeState(node.address(), null, DrillException.sentence(e.getStatus())));
          }
        });
    return states;
  }

  /**
   * Headers of all nodes, as of one moment.
   *
   * @param rows in the order of time and then of the nodes, each with "node"
   * @param truncated there are more than the limit
   * @param asked nodes whose headers these are
   * @param missing nodes that gave none, or not all, and why
   */
  public record Headers(
      List<ObjectNode> rows, boolean truncated, List<String> asked, Map<String, String> missing) {}

  /**
   * One header while it is sorted in.
   *
   * @param rank how many came before it, node after node: hosts that saw a packet at the same time
   *     are shown in the order in which the server was given them
   */
  private record Timed(long timeNs, long rank, ObjectNode row) {
    static final Comparator<Timed> ORDER =
        Comparator.comparingLong(Timed::timeNs).thenComparingLong(Timed::rank);
  }

  /** The earliest of the headers that came, at most so many: no more are held than are shown. */
  private static final class Earliest {
    private final PriorityQueue<Timed> latestFirst = new PriorityQueue<>(Timed.ORDER.reversed());
    private final long limit;
    private long added;
    private boolean more;

    Earliest(long limit) {
      this.limit = limit;
    }

    void add(long timeNs, ObjectNode row) {
      latestFirst.add(new Timed(timeNs, added++, row));
      if (latestFirst.size() > limit) {
        latestFirst.poll();
        more = true;
      }
    }

    List<ObjectNode> rows() {
      return latestFirst.stream().sorted(Timed.ORDER).map(Timed::row).toList();
    }
  }

  /**
   * The headers that match, the first of them if there are more than the limit of each node.
   *
   * @throws DrillException if the filter makes no sense, or no node answers
   */
  public Headers headers(DrillRequest request) throws DrillException {
    SnapshotVector snapshot = snapshot(request);
    Map<String, String> missing = new LinkedHashMap<>(snapshot.missing());
    Earliest found = new Earliest(request.limit() == 0 ? DrillRequest.MOST_ROWS : request.limit());
    // All at once; gRPC holds back what is not read yet.
    Map<NodeClient, Iterator<RowBatch>> asked = new LinkedHashMap<>();
    snapshot
        .tails()
        .forEach(
            (node, at) ->
                // One more than wanted tells that there are more.
                asked.put(
                    node,
                    node.query(message(request, at).setLimit(found.limit + 1).build(), ANSWER)));
    for (Map.Entry<NodeClient, Iterator<RowBatch>> each : asked.entrySet()) {
      NodeClient node = each.getKey();
      try {
        read(node, each.getValue(), layout(node, snapshot.tails().get(node)), found, missing);
      } catch (StatusRuntimeException e) {
        failed(node, e, missing);
      }
    }
    return new Headers(found.rows(), found.more, names(snapshot), missing);
  }

  /**
   * A number over headers of all nodes, as of one moment.
   *
   * @param groups the greatest first; the empty key is that of groups beyond the nodes' bound
   * @param asked nodes whose headers it is of
   * @param missing nodes that gave none, and why
   */
  public record Numbers(
      List<Map.Entry<List<String>, Double>> groups,
      List<String> asked,
      Map<String, String> missing) {}

  /**
   * The aggregate of the headers that match; the request's limit is that of its groups.
   *
   * @throws DrillException if the question makes no sense, or no node answers
   */
  public Numbers numbers(DrillRequest request, DrillAggregate aggregate) throws DrillException {
    SnapshotVector snapshot = snapshot(request);
    Map<String, String> missing = new LinkedHashMap<>(snapshot.missing());
    DrillAggregate.Sums sums = new DrillAggregate.Sums(aggregate);
    List<AggregateFunction> parts = aggregate.parts();
    for (int part = 0; part < parts.size(); part++) {
      Map<NodeClient, ListenableFuture<AggregateReply>> asked = new LinkedHashMap<>();
      AggregateFunction function = parts.get(part);
      snapshot
          .tails()
          .forEach(
              (node, at) ->
                  asked.put(
                      node,
                      node.aggregate(
                          AggregateRequest.newBuilder()
                              .setFunction(function)
                              .setQuery(message(request, at))
                              .setWithStates(aggregate.isOfStates())
                              .build(),
                          ANSWER)));
      for (Map.Entry<NodeClient, ListenableFuture<AggregateReply>> each : asked.entrySet()) {
        try {
          sums.add(part, Snapshots.result(each.getValue()));
        } catch (StatusRuntimeException e) {
          failed(each.getKey(), e, missing);
        } catch (IllegalArgumentException e) {
          missing.put(
              each.getKey().name(), "gave an answer that makes no sense: " + e.getMessage());
        }
      }
    }
    List<Map.Entry<List<String>, Double>> groups =
        sums.result().entrySet().stream()
            .sorted(Map.Entry.<List<String>, Double>comparingByValue().reversed())
            .limit(request.limit() == 0 ? Long.MAX_VALUE : request.limit())
            .toList();
    return new Numbers(groups, names(snapshot), missing);
  }

  /**
   * The frames as one pcapng file: a section for each node.
   *
   * @return nodes that gave none, or not all, and why
   */
  public Map<String, String> pcapng(DrillRequest request, OutputStream out)
      throws DrillException, IOException {
    SnapshotVector snapshot = snapshot(request);
    Map<String, String> missing = new LinkedHashMap<>(snapshot.missing());
    long left = request.limit() == 0 ? Long.MAX_VALUE : request.limit();
    for (Map.Entry<NodeClient, Tails> each : snapshot.tails().entrySet()) {
      QueryRequest query =
          message(request, each.getValue()).setLimit(left == Long.MAX_VALUE ? 0 : left).build();
      try {
        Iterator<PcapngPiece> pieces = each.getKey().pcapng(query, ANSWER);
        while (left > 0 && pieces.hasNext()) {
          PcapngPiece piece = pieces.next();
          piece.getBytes().writeTo(out);
          left -= left == Long.MAX_VALUE ? 0 : piece.getPackets();
        }
      } catch (StatusRuntimeException e) {
        failed(each.getKey(), e, missing);
      }
    }
    return missing;
  }

  /** A snapshot that nothing is asked of. */
  void snapshotOf(DrillRequest request) throws DrillException {
    snapshot(request);
  }

  private SnapshotVector snapshot(DrillRequest request) throws DrillException {
    if (nodes.isEmpty()) {
      throw new DrillException(
          Kind.UNAVAILABLE,
          "this server knows no MultiLog node: start it with --multilog NAME=HOST:PORT");
    }
    SnapshotVector snapshot = snapshots.take(asked(request.nodes()));
    if (snapshot.tails().isEmpty()) {
      throw new DrillException(Kind.UNAVAILABLE, "no node answers: " + snapshot.missing());
    }
    return snapshot;
  }

  private List<NodeClient> asked(List<String> names) throws DrillException {
    if (names.isEmpty()) {
      return List.copyOf(nodes.values());
    }
    List<NodeClient> asked = new ArrayList<>();
    for (String name : names) {
      NodeClient node = nodes.get(name);
      if (node == null) {
        throw new DrillException(
            Kind.NOT_FOUND, "there is no node " + name + "; known: " + nodes.keySet());
      }
      asked.add(node);
    }
    return asked;
  }

  static QueryRequest.Builder message(DrillRequest request, Tails at) {
    return QueryRequest.newBuilder()
        .setExpression(request.filter())
        .setTimeLowNs(request.fromNs())
        .setTimeHighNs(request.toNs())
        .setAt(at);
  }

  private RowLayout layout(NodeClient node, Tails at) {
    String start = node.name() + " " + at.getIncarnation();
    RowLayout known = layouts.get(start);
    if (known == null) {
      NodeDescription description = Snapshots.result(node.describe(Snapshots.PATIENCE));
      known = new RowLayout(description.getSchema());
      layouts.put(start, known);
    }
    return known;
  }

  private static void read(
      NodeClient node,
      Iterator<RowBatch> batches,
      RowLayout layout,
      Earliest found,
      Map<String, String> missing) {
    while (batches.hasNext()) {
      RowBatch batch = batches.next();
      ByteBuffer rows = batch.getRows().asReadOnlyByteBuffer();
      for (int at = 0; at + layout.rowBytes() <= rows.limit(); at += layout.rowBytes()) {
        ObjectNode row = layout.json(rows, at);
        row.put("node", node.name());
        found.add(layout.timeNs(rows, at), row);
      }
      if (batch.getUnreadableSegments() > 0) {
        missing.put(
            node.name(), batch.getUnreadableSegments() + " segments on its disk can't be read");
      }
    }
  }

  private static void failed(NodeClient node, StatusRuntimeException e, Map<String, String> missing)
      throws DrillException {
    DrillException wrong = DrillException.ofQuestion(node.name(), e.getStatus());
    if (wrong != null) {
      throw wrong;
    }
    missing.put(node.name(), DrillException.sentence(e.getStatus()));
  }

  private static List<String> names(SnapshotVector snapshot) {
    return snapshot.tails().keySet().stream().map(NodeClient::name).toList();
  }

  @Override
  public void close() {
    watches.close();
    nodes.values().forEach(NodeClient::close);
  }
}
