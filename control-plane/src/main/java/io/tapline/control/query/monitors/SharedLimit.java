package io.tapline.control.query.monitors;

import io.tapline.schema.proto.Plan;
import io.tapline.schema.rpc.MonitorStatus;
import java.io.IOException;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Grants the packets of LIMIT Np to the parts of a query and keeps the parts' plans up to date: a
 * grant is recorded before it is sent to a host, so a control plane that resumes the query knows
 * it. Guarded by its owner's lock.
 */
final class SharedLimit {
  private static final Logger LOG = LoggerFactory.getLogger(SharedLimit.class);

  /** Receives the decisions. */
  interface Outlet {
    void keep(List<Plan> parts) throws IOException;

    void credit(String host, long packets, long version);

    /** Called when all packets have been taken, possibly several times. */
    void used();
  }

  private final List<RemotePart> parts;
  private final PacketPool pool;
  private final Outlet outlet;

  /** True if a grant is not recorded yet. */
  private boolean changed;

  /**
   * Creates a limit for parts whose plans contain their grants.
   *
   * @param packets N of LIMIT Np
   * @param version higher than all versions that an earlier control plane can have used
   */
  SharedLimit(long packets, List<RemotePart> parts, long version, Outlet outlet) {
    this.parts = parts;
    this.outlet = outlet;
    List<Long> granted = parts.stream().map(RemotePart::granted).toList();
    this.pool = new PacketPool(packets, granted, version);
  }

  /** Asks a newly started part for a report. */
  void began(RemotePart part) {
    obey(List.of(pool.currentGrant(parts.indexOf(part))));
  }

  /** Handles a monitor's report (schema/monitor.proto). */
  void onCredits(RemotePart part, MonitorStatus.Credits credits) {
    obey(
        pool.onReport(
            parts.indexOf(part),
            new PacketPool.Report(
                credits.getVersion(),
                credits.getGranted(),
                credits.getTaken(),
                credits.getWanting(),
                credits.getRefused())));
  }

  /**
   * Writes off the grant of a part that ends, or that moves and starts on its new host without a
   * grant.
   */
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

  /**
   * Records the grants. Returns false if that fails; the grants are then not sent, and parts that
   * need them ask again.
   */
  private boolean kept() {
    try {
      if (changed) {
        outlet.keep(parts.stream().map(RemotePart::plan).toList());
        changed = false;
      }
      return true;
    } catch (IOException e) {
      LOG.error("can't grant packets of LIMIT: {}", e.getMessage());
      return false;
    }
  }
}
