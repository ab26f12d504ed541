resource "gantry_server_config" "this" {
  config = {
    "images.auto_update_interval" = "12"
  }
}
