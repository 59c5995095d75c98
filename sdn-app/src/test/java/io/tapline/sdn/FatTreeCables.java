package io.tapline.sdn;

import io.tapline.sdn.topology.Host;
import io.tapline.sdn.topology.Link;
import io.tapline.sdn.topology.SwitchPort;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** A fat tree's hosts, and its links in both directions. */
public final class FatTreeCables {
  public final List<Link> links = new ArrayList<>();
  public final List<Host> hosts = new ArrayList<>();
  public final List<Long> switches = new ArrayList<>();

  /**
   * Numbers edge switches 1xx, aggregation switches 2xx, and core switches 3xx. Ports are numbered
   * from 1, beginning with those towards the hosts.
   */
  public FatTreeCables(int k) {
    int half = k / 2;
    for (int core = 0; core < half * half; core++) {
      switches.add(300L + core);
    }
    for (int pod = 0; pod < k; pod++) {
      for (int i = 0; i < half; i++) {
        long edge = 100 + pod * half + i;
        long above = 200 + pod * half + i;
        switches.add(edge);
        switches.add(above);
        for (int j = 0; j < half; j++) {
          long mac = 0x0200_0000_0000L + edge * 256 + j;
          SwitchPort port = new SwitchPort(edge, 1 + j);
          hosts.add(new Host(mac, port, Set.of((int) mac), 0));
          link(edge, half + 1 + j, 200 + pod * half + j, 1 + i);
          link(above, half + 1 + j, 300 + i * half + j, 1 + pod);
        }
      }
    }
  }

  private void link(long a, int portA, long b, int portB) {
    Link link = new Link(new SwitchPort(a, portA), new SwitchPort(b, portB));
    links.add(link);
    links.add(link.reversed());
  }
}
