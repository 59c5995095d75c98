package io.tapline.sdn.forwarding;

import java.util.Set;

/**
 * A component that needs to know routes before switches change them. Implementations are
 * thread-safe.
 */
public interface RouteObserver {
  /** An observer that needs no routes. */
  RouteObserver NONE =
      new RouteObserver() {
        @Override
        public Set<String> switches() {
          return Set.of();
        }

        @Override
        public void announce(RouteVersion routes, Runnable confirmed) {
          confirmed.run();
        }
      };

  /** Returns the names of the switches whose routes the observer needs. */
  Set<String> switches();

  /**
   * Announces a version, which replaces earlier ones. Must return immediately.
   *
   * @param confirmed called on any thread once no monitor uses an earlier version any more; need
   *     not be called if a later version follows
   */
  void announce(RouteVersion routes, Runnable confirmed);
}
