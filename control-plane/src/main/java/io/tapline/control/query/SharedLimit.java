package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lends the packets of LIMIT Np to the parts of a query, whose plans it keeps up to date: what is
 * granted is noted before a host hears of it, so that whoever goes on with the query knows. Changed
 * under its owner's lock.
 */
final class SharedLimit {
  private static final Logger LOG = LoggerFactory.getLogger(SharedLimit.class);

  /** Where its decisions go. */
  interface Outlet {
    void keep(List<Plan> parts) throws IOException;

    void credit(String host, long packets, long version);

    /** All are taken. Said again if somebody does not know. */
    void used();
  }

  private final List<RemotePart> parts;
  private final PacketPool pool;
  private final Outlet outlet;

  /** Whether a grant is not noted yet. */
  private boolean changed;

  /**
   * Of parts whose plans say what they were granted.
   *
   * @param packets N
   * @param version above all that an earlier control plane can have used
   */
  SharedLimit(long packets, List<RemotePart> parts, long version, Outlet outlet) {
    this.parts = parts;
    this.outlet = outlet;
    List<Long> granted = parts.stream().map(RemotePart::granted).toList();
    this.pool = new PacketPool(packets, granted, version);
  }

  /** A part runs: it is asked how far it is. */
  void began(RemotePart part) {
    obey(List.of(pool.again(parts.indexOf(part))));
  }

  /** What its monitor says (schema/agent.proto). */
  void heard(RemotePart part, JsonNode said) {
    obey(
        pool.heard(
            parts.indexOf(part),
            new PacketPool.Report(
                said.path("version").asLong(),
                said.path("granted").asLong(),
                said.path("taken").asLong(),
                said.path("wanting").asBoolean(),
                said.path("refused").asBoolean())));
  }

  /** A part ends, or is somewhere else from now on: there it begins with nothing. */
  void lost(RemotePart part) {
    obey(pool.lost(parts.indexOf(part)));
  }

  private void obey(List<PacketPool.Grant> grants) {
    for (int i = 0; i < parts.size(); i++) {
      changed |= parts.get(i).grant(pool.granted(i));
    }
    if (pool.used()) {
      outlet.used();
    } else if (!grants.isEmpty() && kept()) {
      grants.forEach(
          grant -> outlet.credit(parts.get(grant.part()).host(), grant.packets(), grant.version()));
    }
  }

  /** What can't be noted is not said: whoever waits for it asks again. */
  private boolean kept() {
    try {
      if (changed) {
        outlet.keep(parts.stream().map(RemotePart::plan).toList());
        changed = false;
      }
      return true;
    } catch (IOException e) {
      LOG.error("no packets of LIMIT are granted: {}", e.getMessage());
      return false;
    }
  }
}
