resource "gantry_cluster_member" "node2" {
  name = "node2"
}
