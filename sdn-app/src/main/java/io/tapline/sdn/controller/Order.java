package io.tapline.sdn.controller;

import io.tapline.sdn.flow.SwitchMessage;

/** A message and the switch that it is for. */
public record Order(long datapath, SwitchMessage message) {}
