terraform import gantry_cluster_member.example 'node2'
