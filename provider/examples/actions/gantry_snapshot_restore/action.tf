action "gantry_snapshot_restore" "undo" {
  config {
    container = "web"
    snapshot  = "before-upgrade"
  }
}
