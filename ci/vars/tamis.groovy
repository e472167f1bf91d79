// A step of a shared library: tamis(command: 'mvn -B verify', options: '--junit tamis.xml', shard: '3/8')
def call(Map arguments = [:]) {
  def store = arguments.store ?: "${env.JENKINS_HOME}/tamis/${env.JOB_NAME}"
  def shard = arguments.shard ? "--shard ${arguments.shard}" : ''
  withEnv(["TAMIS_STORE=${store}", "TAMIS_SHARD=${shard}", "TAMIS_OPTIONS=${arguments.options ?: ''}",
           "TAMIS_COMMAND=${arguments.command ?: ''}"]) {
    sh '''
      tamis $TAMIS_SHARD $TAMIS_OPTIONS $TAMIS_COMMAND
    '''
  }
}
