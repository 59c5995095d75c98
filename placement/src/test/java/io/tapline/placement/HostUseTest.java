package io.tapline.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.tapline.network.FatTree;
import io.tapline.network.Host;
import io.tapline.network.Resources;
import io.tapline.network.Topology;
import java.util.Random;
import org.junit.jupiter.api.Test;

class HostUseTest {
  private static final Resources TOTAL = new Resources(1000, 100, 50);
  private static final Resources USED = new Resources(200, 10, 5);

  /** A fat tree of 16 equal hosts, each partly used. */
  private static final Topology TREE =
      FatTree.of(4, (name, edge) -> new Host(name, edge, 1, 1_000, TOTAL, USED));

  private final HostUse use = new HostUse(TREE);

  @Test
  void eachResourceHasASeparateBound() {
    assertThat(use.fits(0, new Resources(800, 90, 45))).isTrue();
    assertThat(use.fits(0, new Resources(801, 90, 45))).isFalse();
    assertThat(use.fits(0, new Resources(800, 91, 45))).isFalse();
    assertThat(use.fits(0, new Resources(800, 90, 46))).isFalse();
  }

  @Test
  void memoryIsReservedAndReleased() {
    Resources half = new Resources(0, 50, 0);
    use.take(3, half);
    assertThat(use.fits(3, half)).isFalse();
    assertThat(use.fits(3, new Resources(800, 40, 45))).isTrue();
    assertThat(use.fits(2, half)).isTrue();
    use.give(3, half);
    assertThat(use.fits(3, half)).isTrue();
    assertThat(use.fits(3, new Resources(0, 91, 0))).isFalse();
  }

  @Test
  void theLoadOfAHostIsThatOfItsScarcestResource() {
    assertThat(use.load(0)).isCloseTo(0.2, within(1e-9));
    use.take(0, new Resources(0, 50, 0));
    assertThat(use.load(0)).isCloseTo(0.6, within(1e-9));
    use.take(0, new Resources(700, 0, 0));
    assertThat(use.load(0)).isCloseTo(0.9, within(1e-9));
  }

  @Test
  void theLeastLoadedHostHasEnoughMemory() {
    Resources need = new Resources(100, 30, 0);
    int[] ofEdge = TREE.hostsOf(0);
    // The first host has enough free CPUs but too little memory; the second is as loaded but has
    // room.
    use.take(ofEdge[0], new Resources(0, 70, 0));
    use.take(ofEdge[1], new Resources(600, 0, 0));
    assertThat(use.leastLoaded(0, need)).isEqualTo(ofEdge[1]);
    use.take(ofEdge[1], new Resources(0, 70, 0));
    assertThat(use.leastLoaded(0, need)).isEqualTo(-1);
    assertThat(use.leastLoaded(0, new Resources(100, 20, 0))).isEqualTo(ofEdge[0]);
  }

  @Test
  void theNearestHostToAFullOneIsItsNeighbour() {
    int[] ofEdge = TREE.hostsOf(0);
    use.take(ofEdge[0], new Resources(0, 90, 0));
    Resources need = new Resources(1, 1, 1);
    assertThat(use.nearest(ofEdge[1], need)).isEqualTo(ofEdge[1]);
    assertThat(use.nearest(ofEdge[0], need)).isEqualTo(ofEdge[1]);
    use.take(ofEdge[1], new Resources(0, 90, 0));
    int nearest = use.nearest(ofEdge[0], need);
    assertThat(TREE.edgeOf(nearest)).isNotEqualTo(0);
    assertThat(TREE.groupsOf(TREE.edgeOf(nearest))).containsAnyOf(TREE.groupsOf(0));
  }

  @Test
  void noHostIsFoundWithoutRoom() {
    Resources none = new Resources(0, 91, 0);
    assertThat(use.leastLoadedOfAll(none)).isEqualTo(-1);
    assertThat(use.leastLoadedOfGroup(0, none)).isEqualTo(-1);
    assertThat(use.nearest(0, none)).isEqualTo(-1);
    assertThat(use.random(none, new Random(1))).isEqualTo(-1);
    assertThatThrownBy(() -> HostUse.required(-1, "monitor", none))
        .isInstanceOf(PlacementException.class)
        .hasMessageContaining("91 MiB");
  }

  @Test
  void aCopyIsIndependent() {
    HostUse copy = new HostUse(use);
    copy.take(0, new Resources(0, 90, 0));
    assertThat(use.fits(0, new Resources(0, 90, 0))).isTrue();
    use.copyFrom(copy);
    assertThat(use.fits(0, new Resources(0, 1, 0))).isFalse();
    copy.give(0, new Resources(0, 90, 0));
    assertThat(use.fits(0, new Resources(0, 1, 0))).isFalse();
    use.close(1);
    assertThat(use.fits(1, Resources.NONE)).isFalse();
  }
}
