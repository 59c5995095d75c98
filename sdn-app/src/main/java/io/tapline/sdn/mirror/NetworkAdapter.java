package io.tapline.sdn.mirror;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Tapline's interface to a network's switches. Tapline's own controller implements it; other
 * controllers need an adapter. Implementations are thread-safe.
 */
public interface NetworkAdapter extends AutoCloseable {
  /**
   * Sets the wanted mirror state; returns immediately. Idempotent. Each step of the change must be
   * complete or harmless: forwarding never changes, and each packet is copied according to either
   * the old or the new state.
   *
   * @throws IOException if the state can't be recorded
   */
  void mirror(MirrorState wantedState) throws IOException;

  /** Returns the switches' progress towards the wanted state. */
  MirrorReport report();

  /**
   * Returns the counts of mirror flows on connected switches that have reported since each flow was
   * last changed. If a caller asks every few seconds, counts are at most a second old. Empty if the
   * adapter can't count; losses on the way to monitors are then unknown.
   */
  default List<MirrorCount> counts() {
    return List.of();
  }

  /**
   * Returns true if {@link #report} reflects the switches' actual flows, and not only the messages
   * sent to them. Only then may a query's rules be narrowed to a sample of its flows, since the
   * caller must know when switches copy all flows again.
   */
  default boolean seesSwitches() {
    return false;
  }

  /** Returns the known switches, links and hosts; empty if the adapter can't report them. */
  default Optional<NetworkStatus> seen() {
    return Optional.empty();
  }

  /**
   * Returns the hosts that have a separate port for copies at a switch; empty if the adapter does
   * not know.
   */
  default Set<String> monitorsAt(String switchName) {
    return Set.of();
  }

  /** Returns the format in which switches copy all traffic; empty if the adapter does not know. */
  default Optional<CopyFormat> copyFormat() {
    return Optional.empty();
  }

  /** Triggers an immediate read of the counters; returns without waiting for it. */
  default void recount() {}

  /** Closes the adapter; flows stay installed. */
  @Override
  void close();
}
