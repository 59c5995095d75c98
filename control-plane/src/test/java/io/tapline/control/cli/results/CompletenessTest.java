package io.tapline.control.cli.results;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CompletenessTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"sampling_rate\":1.0,\"packets_in\":1234,\"dropped\":{}}"
            + "| completeness: 1,234 packets in; every flow sampled; nothing lost",
        "{\"sampling_rate\":1.0,\"packets_in\":1,\"dropped\":{\"memory\":2,\"no_room\":0},\"late\":3}"
            + "| completeness: 1 packet in; every flow sampled; lost: 2 memory; 3 tuples late",
        "{\"sampling_rate\":0.125,\"packets_in\":9,\"dropped\":{\"unsampled\":5},\"reused\":4}"
            + "| completeness: 9 packets in; 12.5 % of flows sampled (5 packets left out); nothing lost;"
            + " 4 connections reused, not counted",
        "{\"packets_in\":9,\"dropped\":{},\"reused\":1,\"unanswered\":1200,\"half_seen\":3}"
            + "| completeness: 9 packets in; every flow sampled; nothing lost; 1 connection reused, not"
            + " counted; 1,200 unanswered; 3 half seen",
        "{\"sampling_rate\":1.0,\"packets_in\":9,\"dropped\":{\"limit\":7}}"
            + "| completeness: 9 packets in; every flow sampled; 7 beyond LIMIT; nothing lost",
        "{\"packets_in\":9,\"dropped\":{},\"packets_polled\":8}"
            + "| completeness: 9 packets in; every flow sampled; nothing lost; 8 packets timestamped when"
            + " polled: delays are off by up to about 1 ms",
        "{\"packets_in\":9,\"dropped\":{},\"silent\":[\"h1\",\"h3\"]}"
            + "| completeness: 9 packets in; every flow sampled; nothing lost; no data from h1, h3"
            + " (silent)"
      })
  void everyCounterThatIsNotZeroIsShown(String json, String line) throws Exception {
    assertThat(Completeness.line(new ObjectMapper().readTree(json))).isEqualTo(line);
  }
}
