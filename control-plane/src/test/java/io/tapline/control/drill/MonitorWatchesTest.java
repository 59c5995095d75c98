package io.tapline.control.drill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.compiler.access.Rights;
import io.tapline.control.drill.MonitorWatches.Place;
import io.tapline.control.drill.MonitorWatches.Watch;
import io.tapline.schema.proto.PacketTrigger;
import io.tapline.schema.rpc.NodeAlert;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Tests how watches start, restart and stop queries, which are simulated; MonitorWatchTest runs
 * real ones.
 */
class MonitorWatchesTest {
  /** Simulates a query for each watch, which runs until it is stopped or the test ends it. */
  private static final class Queries implements MonitorWatches.Runs {
    private final Map<String, MonitorWatches.End> ended = new HashMap<>();
    private final Set<String> followed = new HashSet<>();
    private final List<String> started = new ArrayList<>();
    private Runnable meanwhile = () -> {};

    @Override
    public List<PacketTrigger> compile(
        List<WatchSpec> watches, Rights rights, IntFunction<String> places) {
      return watches.stream().map(watch -> PacketTrigger.getDefaultInstance()).toList();
    }

    @Override
    public List<Place> start(
        List<Watch> watches, Rights rights, int maxQueries, MonitorWatches.Listener listener) {
      meanwhile.run();
      List<Place> places = new ArrayList<>();
      for (Watch watch : watches) {
        started.add(rights.tenant() + "-" + (started.size() + 1));
        places.add(new Place(started.get(started.size() - 1), 0));
        follow(watch, places.get(places.size() - 1), rights, listener);
      }
      return places;
    }

    @Override
    public void follow(Watch watch, Place place, Rights rights, MonitorWatches.Listener listener) {
      if (followed.add(place.query())) {
        NodeAlert alert = NodeAlert.newBuilder().setTrigger(watch.name()).build();
        listener.alert(alert, place.query(), "m1", false);
      }
    }

    @Override
    public void resume() {}

    @Override
    public boolean follows(Place place) {
      return followed.contains(place.query());
    }

    @Override
    public OptionalLong countingSinceNs(Place place) {
      return OptionalLong.empty();
    }

    @Override
    public Optional<MonitorWatches.End> end(String query) {
      return Optional.ofNullable(ended.get(query));
    }

    @Override
    public void stop(Collection<Place> places) {
      for (Place place : places) {
        ended.put(place.query(), new MonitorWatches.End(false, "its query was stopped"));
        followed.remove(place.query());
      }
    }
  }

  private final WatchTable table = new WatchTable();
  private final List<String> alerts = new ArrayList<>();
  private final Map<String, String> ends = new HashMap<>();
  private final Queries queries = new Queries();
  private final MonitorWatches monitors = watches();

  private MonitorWatches watches() {
    return new MonitorWatches(
        table,
        (alert, id, monitor, replayed) -> alerts.add(alert.getTrigger() + " " + id),
        ends::put);
  }

  private String added() throws DrillException {
    WatchSpec spec =
        new WatchSpec(
            HeaderFilter.ALL,
            DrillAggregate.parse("COUNT", List.of()),
            "count > 5",
            1_000_000_000,
            1_000_000_000,
            "info",
            List.of(),
            false,
            new WatchRun(true, "requested"));
    return table.add(List.of(spec), "web", "", 10).get(0);
  }

  private void start(String... watches) throws DrillException {
    monitors.start(Stream.of(watches).map(table::active).toList(), 5, name -> name + ": ");
  }

  @Test
  void aQueryIsStartedWithTheOwnersRights() throws Exception {
    String watch = added();
    assertThatThrownBy(() -> start(watch))
        .hasMessageContaining("this server does not run watches in monitors");
    monitors.runIn(queries);
    start(watch);
    assertThat(table.active(watch).query()).isEqualTo("web-1");
    assertThat(alerts).containsExactly(watch + " web-1");
    monitors.stop(List.of(table.active(watch)));
    assertThat(queries.ended).containsKey("web-1");
  }

  @Test
  void aWatchThatIsStartingHasOneQuery() throws Exception {
    String watch = added();
    monitors.runIn(queries);
    queries.ended.put("", new MonitorWatches.End(true, "it has no query"));
    queries.meanwhile = monitors::continueAll;
    start(watch);
    assertThat(queries.started).containsExactly("web-1");
  }

  @Test
  void aWatchThatIsRemovedWhileItStartsLeavesNoQuery() throws Exception {
    String watch = added();
    monitors.runIn(queries);
    queries.meanwhile = () -> table.end(watch, "its token was revoked");
    start(watch);
    assertThat(queries.ended).containsKey("web-1");
    assertThat(alerts).isEmpty();
  }

  @Test
  void aQueryThatFailsIsStartedAgainAfterAPause() throws Exception {
    String watch = added();
    monitors.runIn(queries);
    start(watch);
    for (int i = 0; i < 3; i++) {
      String query = table.active(watch).query();
      queries.ended.put(query, new MonitorWatches.End(true, "it failed"));
      monitors.continueAll();
    }
    assertThat(queries.started).as("the second restart waits").containsExactly("web-1", "web-2");
    assertThat(ends).isEmpty();
  }

  @Test
  void aWatchEndsWithItsStoppedQuery() throws Exception {
    String watch = added();
    monitors.runIn(queries);
    start(watch);
    queries.ended.put("web-1", new MonitorWatches.End(false, "its query was stopped"));
    monitors.continueAll();
    assertThat(ends).isEqualTo(Map.of(watch, "its query was stopped"));
  }

  @Test
  void anotherServerResumesRunningQueriesAndStartsMissingOnes() throws Exception {
    String kept = added();
    String lost = added();
    monitors.runIn(queries);
    start(kept);
    start(lost);
    // The next server follows no queries yet, and one query ended together with the previous
    // server.
    queries.followed.clear();
    queries.ended.put("web-2", new MonitorWatches.End(false, "its query was stopped"));
    alerts.clear();
    MonitorWatches next = watches();
    next.continueAll();
    assertThat(alerts).as("it does not lead yet").isEmpty();
    next.runIn(queries);
    next.continueAll();
    assertThat(alerts).containsExactly(kept + " web-1", lost + " web-3");
    assertThat(ends).isEmpty();
  }

  @Test
  void aServerThatEndsLeavesItsWatches() throws Exception {
    String watch = added();
    monitors.runIn(queries);
    start(watch);
    monitors.runIn(null);
    queries.ended.put("web-1", new MonitorWatches.End(false, "its query was stopped"));
    monitors.continueAll();
    assertThat(ends).isEmpty();
    assertThat(table.active(watch)).isNotNull();
  }
}
