package io.tapline.sim.streams;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;

/** A tuple of the baselines. Its fields are public and mutable, as Jackson and Flink require. */
@JsonIgnoreProperties(ignoreUnknown = true)
public final class Event {
  @JsonProperty("time_ns")
  public long timeNs;

  @JsonProperty("flow_id")
  public String flow = "";

  @JsonProperty("src_ip")
  public String client = "";

  @JsonProperty("url")
  public String url = "";

  @JsonProperty("event")
  public String event = "";
}
