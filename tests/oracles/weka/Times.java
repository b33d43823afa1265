import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import weka.classifiers.Classifier;
import weka.classifiers.UpdateableClassifier;
import weka.core.Instance;
import weka.core.Instances;

/**
 * Times a classifier of WEKA that can be updated, in this process and over instances that exist already.
 *
 * <pre>java Times TRAINED weka.classifiers.bayes.AODE -M</pre>
 *
 * Reads a stream, then an empty line; learns the first TRAINED events and answers "ready". After that a line
 * "update,1000" takes the next 1000 events, going round, and is answered with the nanoseconds that they took.
 * "predict" asks, "update" learns, "both" asks and then learns. Ends with its input.
 */
final class Times {
    private final Classifier model;
    private final Instance[] events;
    private int next;
    private double said; // what was predicted is used, so that no compiler can leave it out

    private Times(Classifier model, Instance[] events) {
        this.model = model;
        this.events = events;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        Instances stream = CodedStream.read(input);
        Classifier model = Classifier.forName(arguments[1], Arrays.copyOfRange(arguments, 2, arguments.length));
        model.buildClassifier(new Instances(stream, 0));
        Instance[] events = new Instance[stream.numInstances()];
        for (int row = 0; row < events.length; row++) {
            events[row] = stream.instance(row);
        }
        Times times = new Times(model, events);
        times.run("update", Integer.parseInt(arguments[0]));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] request = line.split(",");
            System.out.println(times.run(request[0], Integer.parseInt(request[1])));
        }
        System.err.print(Double.isNaN(times.said) ? "a prediction was not a number\n" : "");
    }

    private long run(String work, int number) throws Exception {
        switch (work) {
            case "predict":
                return predict(number);
            case "update":
                return update(number);
            case "both":
                return both(number);
            default:
                throw new IllegalArgumentException("expected predict, update or both, but came " + work);
        }
    }

    private Instance event() {
        Instance event = events[next];
        next = next + 1 == events.length ? 0 : next + 1;
        return event;
    }

    private long predict(int number) throws Exception {
        long start = System.nanoTime();
        for (int taken = 0; taken < number; taken++) {
            said += model.distributionForInstance(event())[0];
        }
        return System.nanoTime() - start;
    }

    private long update(int number) throws Exception {
        UpdateableClassifier learner = (UpdateableClassifier) model;
        long start = System.nanoTime();
        for (int taken = 0; taken < number; taken++) {
            learner.updateClassifier(event());
        }
        return System.nanoTime() - start;
    }

    private long both(int number) throws Exception {
        UpdateableClassifier learner = (UpdateableClassifier) model;
        long start = System.nanoTime();
        for (int taken = 0; taken < number; taken++) {
            Instance event = event();
            said += model.distributionForInstance(event)[0];
            learner.updateClassifier(event);
        }
        return System.nanoTime() - start;
    }
}
