package io.tapline.sdn.topology;

/** One direction of a cable between two switches. */
public record Link(SwitchPort from, SwitchPort to) {
  public Link reversed() {
    return new Link(to, from);
  }
}
