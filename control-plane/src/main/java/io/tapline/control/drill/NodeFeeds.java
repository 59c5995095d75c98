package io.tapline.control.drill;

import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.stub.StreamObserver;
import io.tapline.schema.rpc.AttachRequest;
import io.tapline.schema.rpc.NodeAlert;
import io.tapline.schema.rpc.NodeDescription;
import io.tapline.schema.rpc.NodeEvent;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * The streams of alerts from the nodes. A broken stream is reopened and continues after the last
 * alert received, so no alert arrives twice, and no alert that the node still has is lost. A
 * control plane's first stream from a node begins with all alerts that the node has. Thread-safe.
 */
final class NodeFeeds {
  private static final int HEARTBEAT_MS = 1_000;

  /**
   * The last alert received from a node.
   *
   * @param replayed number of the last alert that an earlier control plane may have received
   */
  private record Cursor(long incarnation, long number, long replayed) {
    Cursor to(long next) {
      return new Cursor(incarnation, next, replayed);
    }
  }

  /** Receives the nodes' events; called on the connections' threads. */
  interface Listener {
    /**
     * Called when a stream has begun.
     *
     * @param heardNs time of the node's previous contact, since the epoch; 0 if never
     */
    void attached(NodeClient node, NodeDescription description, long heardNs);

    /**
     * Called for each alert.
     *
     * @param id the alert's ID, the same for every control plane that receives it
     * @param replayed true if an earlier control plane may have received it
     */
    void alert(NodeClient node, NodeAlert alert, String id, boolean replayed);
  }

  private final Listener listener;
  private final Consumer<Runnable> retry;
  private final Map<String, Cursor> cursors = new ConcurrentHashMap<>();
  private final Map<String, Long> heardNs = new ConcurrentHashMap<>();
  private final Set<NodeClient> attached = ConcurrentHashMap.newKeySet();

  /**
   * Creates feeds without streams.
   *
   * @param retry runs a task after a pause
   */
  NodeFeeds(Listener listener, Consumer<Runnable> retry) {
    this.listener = listener;
    this.retry = retry;
  }

  /** Takes over the times of last contact from an earlier control plane. */
  void resume(Map<String, Long> lastHeard) {
    heardNs.putAll(lastHeard);
  }

  /** Returns the time of each node's last contact, in nanoseconds since the epoch. */
  Map<String, Long> lastHeard() {
    return Map.copyOf(heardNs);
  }

  /** Returns true if the node's stream is open. */
  boolean isAttached(NodeClient node) {
    return attached.contains(node);
  }

  /** Returns the node's incarnation, its start time in ns; 0 if its stream is not open. */
  long incarnation(NodeClient node) {
    Cursor cursor = cursors.get(node.name());
    return cursor != null && isAttached(node) ? cursor.incarnation() : 0;
  }

  /** Attaches to a node, and again after each failure until the node is marked as dead. */
  void attach(NodeClient node) {
    if (node.isLost()) {
      return;
    }
    Cursor cursor = cursors.get(node.name());
    AttachRequest.Builder request = AttachRequest.newBuilder().setHeartbeatMs(HEARTBEAT_MS);
    request.setIncarnation(cursor == null ? 0 : cursor.incarnation());
    node.attach(
        request.setAfterAlert(cursor == null ? 0 : cursor.number()).build(), new Feed(node));
  }

  private final class Feed implements StreamObserver<NodeEvent> {
    private final NodeClient node;

    Feed(NodeClient node) {
      this.node = node;
    }

    @Override
    public void onNext(NodeEvent event) {
      Long before = heardNs.put(node.name(), WatchService.nowNs());
      if (event.hasDescription()) {
        begin(event.getDescription());
        attached.add(node);
        listener.attached(node, event.getDescription(), before == null ? 0 : before);
      } else if (event.hasAlert()) {
        take(event.getAlert());
      }
    }

    private void begin(NodeDescription description) {
      long incarnation = description.getIncarnation();
      cursors.compute(
          node.name(),
          (name, cursor) ->
              cursor == null
                  ? new Cursor(incarnation, 0, description.getLastAlert())
                  : cursor.incarnation() == incarnation ? cursor : new Cursor(incarnation, 0, 0));
    }

    private void take(NodeAlert alert) {
      Cursor cursor = cursors.get(node.name());
      long number = alert.getNumber();
      // Nodes of an earlier version do not number alerts.
      if (number > 0 && number <= cursor.number()) {
        return;
      }
      cursors.put(node.name(), cursor.to(Math.max(number, cursor.number())));
      String unique = number > 0 ? cursor.incarnation() + "-" + number : "0-" + alert.getFoundNs();
      listener.alert(
          node,
          alert,
          "%s-%s-%s".formatted(alert.getTrigger(), node.name(), unique),
          number > 0 && number <= cursor.replayed());
    }

    @Override
    public void onError(Throwable t) {
      attached.remove(node);
      if (Status.fromThrowable(t).getCode() != Code.CANCELLED) {
        retry.accept(() -> attach(node));
      }
    }

    @Override
    public void onCompleted() {
      attached.remove(node);
      retry.accept(() -> attach(node));
    }
  }
}
