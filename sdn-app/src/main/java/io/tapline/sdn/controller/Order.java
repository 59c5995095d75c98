package io.tapline.sdn.controller;

import io.tapline.sdn.flow.SwitchMessage;

/** A message to be sent to a switch. */
public record Order(long datapath, SwitchMessage message) {}
