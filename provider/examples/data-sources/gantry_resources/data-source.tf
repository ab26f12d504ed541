data "gantry_resources" "host" {}
