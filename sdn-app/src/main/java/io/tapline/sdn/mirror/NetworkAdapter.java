package io.tapline.sdn.mirror;

import java.io.IOException;

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

  /** Ends the adapter; flows stay. */
  @Override
  void close();
}
