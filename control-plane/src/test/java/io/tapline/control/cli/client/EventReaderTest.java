package io.tapline.control.cli.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.cli.client.EventReader.Event;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class EventReaderTest {
  private static List<Event> read(String stream) throws IOException {
    List<Event> events = new ArrayList<>();
    try (EventReader reader =
        new EventReader(new ByteArrayInputStream(stream.getBytes(StandardCharsets.UTF_8)))) {
      for (Optional<Event> next = reader.next(); next.isPresent(); next = reader.next()) {
        events.add(next.get());
      }
    }
    return events;
  }

  @Test
  void readsNamesIdsAndDataOfSeveralLines() throws IOException {
    assertThat(read("event: window\nid: 1-0\ndata: {\ndata: }\n\n: heartbeat\n\ndata:x\n\n"))
        .containsExactly(new Event("window", "1-0", "{\n}"), new Event("message", "", "x"));
  }

  @Test
  void anIncompleteEventIsIgnored() throws IOException {
    assertThat(read("event: window\ndata: {\"rows\":")).isEmpty();
  }
}
