data "gantry_cluster" "this" {}
