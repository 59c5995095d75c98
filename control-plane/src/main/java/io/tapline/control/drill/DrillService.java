package io.tapline.control.drill;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.util.concurrent.ListenableFuture;
import io.grpc.StatusRuntimeException;
import io.tapline.control.access.TokenFile;
import io.tapline.control.drill.DrillException.Kind;
import io.tapline.schema.rpc.AggregateFunction;
import io.tapline.schema.rpc.AggregateReply;
import io.tapline.schema.rpc.AggregateRequest;
import io.tapline.schema.rpc.NodeDescription;
import io.tapline.schema.rpc.PcapngPiece;
import io.tapline.schema.rpc.QueryRequest;
import io.tapline.schema.rpc.Tails;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** Queries the hosts' MultiLog nodes. Thread-safe; each call blocks until the response arrives. */
public final class DrillService implements AutoCloseable {
  private static final Duration ANSWER = Duration.ofSeconds(60);

  private final NodeTable nodes;
  private final Snapshots snapshots = new Snapshots();
  private final NodeSelection reach;
  private final WatchService watches;

  /** Layouts by node name. A node may have a different schema after an update. */
  private final Map<String, KnownLayout> layouts = new ConcurrentHashMap<>();

  /** The layout of a node's rows in one of its incarnations. */
  private record KnownLayout(long incarnation, RowLayout layout) {}

  /**
   * Creates a service that connects to nodes when they are first queried.
   *
   * @throws IllegalArgumentException if two nodes have the same name
   */
  public DrillService(List<NodeAddress> addresses) {
    this(addresses, name -> List.of());
  }

  /**
   * Creates a service that skips nodes whose hosts can't have seen the requested packets, because a
   * host sees only packets from and to its addresses.
   *
   * @param addressesOf addresses of a node's host as "address/length"; none if the host may see any
   *     packet
   */
  public DrillService(List<NodeAddress> addresses, Function<String, List<String>> addressesOf) {
    this(addresses, addressesOf, NodeAccess.LOCAL);
  }

  /**
   * Creates a service that can also connect to nodes of other hosts.
   *
   * @throws IllegalArgumentException if two nodes have the same name, or access to one of them is
   *     not allowed
   */
  public DrillService(
      List<NodeAddress> addresses, Function<String, List<String>> addressesOf, NodeAccess access) {
    this(new NodeTable(addresses, access), addressesOf, Optional.empty());
    try {
      watches.lead(WatchStore.memory());
    } catch (IOException e) {
      throw new IllegalStateException("memory can be read", e);
    }
  }

  private DrillService(
      NodeTable nodes, Function<String, List<String>> addressesOf, Optional<TokenFile> tokens) {
    this.nodes = nodes;
    reach = new NodeSelection(addressesOf);
    watches = new WatchService(nodes, reach, tokens);
  }

  /**
   * Returns a service that leaves the nodes' watches to another service until {@link
   * WatchService#lead} is called.
   *
   * @param tokens tokens of the watches' owners; empty if the owners need none
   */
  public static DrillService following(
      List<NodeAddress> addresses,
      Function<String, List<String>> addressesOf,
      NodeAccess access,
      Optional<TokenFile> tokens) {
    return new DrillService(new NodeTable(addresses, access), addressesOf, tokens);
  }

  /**
   * Adds or re-adds the node of a host's agent, which then receives its watches. Does not change
   * the nodes that the service was created with.
   *
   * @throws IllegalArgumentException if the address is invalid
   */
  void join(NodeAddress address) {
    NodeClient node = nodes.join(address);
    if (node != null) {
      watches.join(node);
    }
  }

  /** Marks a joined node as dead: it is no longer queried, and is reported as missing. */
  void lose(String name, String reason) {
    nodes.lose(name, reason);
  }

  /** Removes a node that joined. */
  void forget(String name) {
    nodes.forget(name);
  }

  /** Returns the service for the nodes' watches. */
  public WatchService watches() {
    return watches;
  }

  /**
   * A node and its state.
   *
   * @param description null if the node does not answer
   * @param error reason why the node does not answer; empty if it does
   */
  public record NodeState(NodeAddress address, NodeDescription description, String error) {}

  /** Asks all nodes for their states. */
  public List<NodeState> states() {
    Map<NodeClient, ListenableFuture<NodeDescription>> queried = new LinkedHashMap<>();
    nodes.all().values().forEach(node -> queried.put(node, node.describe(Snapshots.TIMEOUT)));
    List<NodeState> states = new ArrayList<>();
    queried.forEach(
        (node, answer) -> {
          if (node.isLost()) {
            states.add(new NodeState(node.address(), null, node.lost()));
            return;
          }
          try {
            states.add(new NodeState(node.address(), Snapshots.result(answer), ""));
          } catch (StatusRuntimeException e) {
            states.add(new NodeState(node.address(), null, DrillException.sentence(e.getStatus())));
          }
        });
    return states;
  }

  /**
   * Headers of all nodes at one point in time.
   *
   * @param rows rows ordered by time, then by node; each has a member "node"
   * @param truncated true if there are more than the limit
   * @param queried nodes that the headers come from
   * @param missing nodes whose headers are missing or incomplete, with the reason
   * @param leftOut nodes that were not asked since they can't have seen such packets, and why
   */
  public record Headers(
      List<ObjectNode> rows,
      boolean truncated,
      List<String> queried,
      Map<String, String> missing,
      Map<String, String> leftOut) {}

  /**
   * Returns the headers that match; only the first of them if there are more than the limit.
   *
   * @throws DrillException if the filter is invalid, or no node answers
   */
  public Headers headers(DrillRequest request) throws DrillException {
    return headers(snapshot(request), request);
  }

  private Headers headers(SnapshotVector snapshot, DrillRequest request) throws DrillException {
    Map<String, String> missing = new LinkedHashMap<>(snapshot.missing());
    EarliestRows earliest =
        new EarliestRows(request.limit() == 0 ? DrillRequest.MAX_ROWS : request.limit());
    Map<NodeClient, ListenableFuture<Void>> queried = new LinkedHashMap<>();
    for (Map.Entry<NodeClient, Tails> entry : snapshot.tails().entrySet()) {
      NodeClient node = entry.getKey();
      try {
        EarliestRows.OfNode rows = earliest.of(node.name(), layout(node, entry.getValue()));
        // Requests one more than the limit, to find out whether there are more.
        QueryRequest query =
            message(request, entry.getValue()).setLimit(earliest.limit() + 1).build();
        queried.put(node, node.query(query, ANSWER, rows::add));
      } catch (StatusRuntimeException e) {
        failed(node, e, missing);
      }
    }
    for (Map.Entry<NodeClient, ListenableFuture<Void>> entry : queried.entrySet()) {
      try {
        Snapshots.result(entry.getValue());
      } catch (StatusRuntimeException e) {
        failed(entry.getKey(), e, missing);
      }
    }
    missing.putAll(earliest.unreadable());
    return new Headers(
        earliest.rows(), earliest.more(), names(snapshot), missing, snapshot.leftOut());
  }

  /**
   * An aggregate over the headers of all nodes at one point in time.
   *
   * @param groups groups, greatest first; the empty key stands for the groups beyond the nodes'
   *     limit
   * @param queried nodes whose headers were used
   * @param missing nodes that sent none, and why
   * @param leftOut nodes that were not asked since they can't have seen such packets, and why
   */
  public record Numbers(
      List<Map.Entry<List<String>, Double>> groups,
      List<String> queried,
      Map<String, String> missing,
      Map<String, String> leftOut) {}

  /**
   * Returns the aggregate of the headers that match; the request's limit applies to its groups.
   *
   * @throws DrillException if the request is invalid, or no node answers
   */
  public Numbers numbers(DrillRequest request, DrillAggregate aggregate) throws DrillException {
    return numbers(snapshot(request), request, aggregate);
  }

  private Numbers numbers(SnapshotVector snapshot, DrillRequest request, DrillAggregate aggregate)
      throws DrillException {
    Map<String, String> missing = new LinkedHashMap<>(snapshot.missing());
    DrillAggregate.Sums sums = new DrillAggregate.Sums(aggregate);
    List<AggregateFunction> parts = aggregate.parts();
    for (int part = 0; part < parts.size(); part++) {
      Map<NodeClient, ListenableFuture<AggregateReply>> queried = new LinkedHashMap<>();
      AggregateFunction function = parts.get(part);
      snapshot
          .tails()
          .forEach(
              (node, tails) ->
                  queried.put(
                      node,
                      node.aggregate(
                          AggregateRequest.newBuilder()
                              .setFunction(function)
                              .setQuery(message(request, tails))
                              .setWithStates(aggregate.isOfStates())
                              .build(),
                          ANSWER)));
      for (Map.Entry<NodeClient, ListenableFuture<AggregateReply>> entry : queried.entrySet()) {
        try {
          sums.add(part, Snapshots.result(entry.getValue()));
        } catch (StatusRuntimeException e) {
          failed(entry.getKey(), e, missing);
        } catch (IllegalArgumentException e) {
          missing.put(entry.getKey().name(), "sent an invalid response: " + e.getMessage());
        }
      }
    }
    List<Map.Entry<List<String>, Double>> groups =
        sums.result().entrySet().stream()
            .sorted(Map.Entry.<List<String>, Double>comparingByValue().reversed())
            .limit(request.limit() == 0 ? Long.MAX_VALUE : request.limit())
            .toList();
    return new Numbers(groups, names(snapshot), missing, snapshot.leftOut());
  }

  /**
   * Writes the frames as one pcapng file with a section for each node.
   *
   * @return nodes whose frames are missing or incomplete, with the reason
   */
  public Map<String, String> pcapng(DrillRequest request, OutputStream out)
      throws DrillException, IOException {
    SnapshotVector snapshot = snapshot(request);
    Map<String, String> missing = new LinkedHashMap<>(snapshot.missing());
    long left = request.limit() == 0 ? Long.MAX_VALUE : request.limit();
    for (Map.Entry<NodeClient, Tails> entry : snapshot.tails().entrySet()) {
      QueryRequest query =
          message(request, entry.getValue()).setLimit(left == Long.MAX_VALUE ? 0 : left).build();
      try {
        Iterator<PcapngPiece> pieces = entry.getKey().pcapng(query, ANSWER);
        while (left > 0 && pieces.hasNext()) {
          PcapngPiece piece = pieces.next();
          piece.getBytes().writeTo(out);
          left -= left == Long.MAX_VALUE ? 0 : piece.getPackets();
        }
      } catch (StatusRuntimeException e) {
        failed(entry.getKey(), e, missing);
      }
    }
    return missing;
  }

  /** A snapshot for several queries, whose results are consistent with each other. */
  public final class View {
    private final SnapshotVector snapshot;

    private View(SnapshotVector snapshot) {
      this.snapshot = snapshot;
    }

    /**
     * Returns headers of the snapshot. The view's nodes are queried, regardless of the request's.
     */
    public Headers headers(DrillRequest request) throws DrillException {
      return DrillService.this.headers(snapshot, request);
    }

    /**
     * Returns numbers of the snapshot. The view's nodes are queried, regardless of the request's.
     */
    public Numbers numbers(DrillRequest request, DrillAggregate aggregate) throws DrillException {
      return DrillService.this.numbers(snapshot, request, aggregate);
    }

    /** Returns the nodes of the snapshot. */
    public List<String> nodes() {
      return names(snapshot);
    }

    /** Returns the nodes that are missing in the snapshot, and why. */
    public Map<String, String> missing() {
      return snapshot.missing();
    }
  }

  /**
   * Returns a view of the nodes' current rows.
   *
   * @param nodes names of the nodes to ask; empty for all
   * @throws DrillException if none answers, or a name is unknown
   */
  public View view(List<String> nodes) throws DrillException {
    return new View(snapshot(new DrillRequest("", 0, 0, 0, nodes)));
  }

  /** Takes a snapshot without querying it. */
  void snapshotOf(DrillRequest request) throws DrillException {
    snapshot(request);
  }

  private SnapshotVector snapshot(DrillRequest request) throws DrillException {
    Map<String, NodeClient> known = reach.within(request.scope(), nodes.all());
    if (known.isEmpty()) {
      throw DrillException.noNodes();
    }
    Map<String, String> leftOut = new LinkedHashMap<>();
    // Nodes that the caller names are always queried.
    List<NodeClient> queried =
        request.nodes().isEmpty()
            ? reach.of(List.copyOf(known.values()), request.filter(), leftOut)
            : queried(request.nodes(), known);
    SnapshotVector snapshot = snapshots.take(queried, leftOut);
    if (snapshot.tails().isEmpty() && !queried.isEmpty()) {
      throw new DrillException(Kind.UNAVAILABLE, "no node answers: " + snapshot.missing());
    }
    return snapshot;
  }

  private static List<NodeClient> queried(List<String> names, Map<String, NodeClient> nodes)
      throws DrillException {
    List<NodeClient> queried = new ArrayList<>();
    for (String name : names) {
      NodeClient node = nodes.get(name);
      if (node == null) {
        throw new DrillException(
            Kind.NOT_FOUND, "there is no node " + name + "; known: " + nodes.keySet());
      }
      queried.add(node);
    }
    return queried;
  }

  static QueryRequest.Builder message(DrillRequest request, Tails tails) {
    QueryRequest.Builder message =
        QueryRequest.newBuilder()
            .setExpression(request.filter().expression())
            .setFilter(request.stored())
            .setTimeLowNs(request.fromNs())
            .setTimeHighNs(request.toNs())
            .setAt(tails);
    request.filter().condition().ifPresent(message::setCondition);
    if (!request.scope().isEverything()) {
      message.setScope(request.scope().ofHeaders());
    }
    return message;
  }

  private RowLayout layout(NodeClient node, Tails tails) {
    KnownLayout knownLayout = layouts.get(node.name());
    if (knownLayout == null || knownLayout.incarnation() != tails.getIncarnation()) {
      NodeDescription description = Snapshots.result(node.describe(Snapshots.TIMEOUT));
      knownLayout = new KnownLayout(tails.getIncarnation(), new RowLayout(description.getSchema()));
      layouts.put(node.name(), knownLayout);
    }
    return knownLayout.layout();
  }

  private static void failed(NodeClient node, StatusRuntimeException e, Map<String, String> missing)
      throws DrillException {
    DrillException wrongException = DrillException.ofRequest(node.name(), e.getStatus());
    if (wrongException != null) {
      throw wrongException;
    }
    missing.put(node.name(), DrillException.sentence(e.getStatus()));
  }

  private static List<String> names(SnapshotVector snapshot) {
    return snapshot.tails().keySet().stream().map(NodeClient::name).toList();
  }

  @Override
  public void close() {
    watches.close();
    nodes.close();
  }
}
