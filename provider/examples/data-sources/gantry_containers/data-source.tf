data "gantry_containers" "running" {
  status = "Running"
}
