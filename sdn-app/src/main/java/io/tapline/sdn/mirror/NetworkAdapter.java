package io.tapline.sdn.mirror;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * The way from Tapline to a network's switches. Tapline's own controller is one; whoever has
 * another writes one more. Implementations are thread-safe.
 */
public interface NetworkAdapter extends AutoCloseable {
  /**
   * Says what the network shall mirror from now on; returns at once. Called again with the same it
   * changes nothing. Each step of the change must be complete or harmless: no packet is forwarded
   * differently, and each is copied as before or as after.
   *
   * @throws IOException if it can't even be noted
   */
  void mirror(MirrorState wanted) throws IOException;

  /** How far it is. */
  MirrorReport report();

  /**
   * What mirror flows have copied, as far as their switches are here and have said so since each
   * flow was last changed. Whoever asks every few seconds is kept up to date to a second. None from
   * an adapter that can't tell: then nobody knows what was lost on the way to monitors.
   */
  default List<MirrorCount> counts() {
    return List.of();
  }

  /**
   * Whether {@link #report} knows what switches hold, and not only what they were told. Then rules
   * may leave out flows that a query does without, since it is known when they copy all again.
   */
  default boolean seesSwitches() {
    return false;
  }

  /** What it knows of switches, links and hosts; empty from an adapter that can't tell. */
  default Optional<NetworkStatus> seen() {
    return Optional.empty();
  }

  /** Has counters read at once; returns at once. */
  default void recount() {}

  /** Ends the adapter; flows stay. */
  @Override
  void close();
}
